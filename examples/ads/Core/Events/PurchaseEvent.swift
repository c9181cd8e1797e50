package import Millrace

/// One line of a receipt.
package struct PurchaseEvent: Record, Hashable {
  package var product: Int64
  package var household: Int64
  package var basket: Int64
  /// As found: 0 for coupons, and some measure of fuel (up to 35,436 on one line) where nobody counts pieces.
  package var quantity: Int64
  /// What was paid, in cents.
  package var salesCents: Int64
  /// What a manufacturer's coupon took off, in cents.
  package var couponCents: Int64
  package var at: Timestamp
}
