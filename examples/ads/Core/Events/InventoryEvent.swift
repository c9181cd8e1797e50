package import Millrace

/// The inventory service says what a product is. Later events of a product replace earlier ones.
package struct InventoryEvent: Record, Hashable {
  package var product: Int64
  package var department: String
  package var brand: String
  package var category: String
  package var type: String
  package var at: Timestamp
}
