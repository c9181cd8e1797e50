/// Amounts of money as whole cents in an `Int64`.
///
/// Whole cents make sums exact and independent of their order, which a replay at another parallelism relies on.
package enum Money {
  /// The amount in `text` in cents, or nil if it is not a decimal number of whole cents that fits.
  ///
  /// Read are digits with at most one point, a sign, and an exponent (`8.881784e-16`): the data set was once binary
  /// floating point, and where a discount ate the whole price it left such dust behind. What is left below a cent is
  /// dropped if it is smaller than a millionth of a cent; more than that is no dust and is refused.
  package static func cents(_ text: String) -> Int64? {
    guard let decimal = Decimal(text) else { return nil }
    return decimal.wholeCents
  }

  /// `cents` as a decimal with a point and thousands separated: 400,771.04.
  package static func text(_ cents: Int64) -> String {
    let magnitude = cents.magnitude
    let fraction = magnitude % 100
    return (cents < 0 ? "-" : "") + grouped(magnitude / 100) + (fraction < 10 ? ".0" : ".") + "\(fraction)"
  }

  /// `number` in groups of three digits: 125,541.
  package static func grouped(_ number: some BinaryInteger) -> String {
    var digits = Array(String(number.magnitude).utf8)
    var index = digits.count - 3
    while index > 0 {
      digits.insert(UInt8(ascii: ","), at: index)
      index -= 3
    }
    return (number < 0 ? "-" : "") + String(decoding: digits, as: UTF8.self)
  }
}

/// A decimal number as written: `digits` × 10^`exponent`.
private struct Decimal {
  var isNegative = false
  var digits: [UInt8] = []
  var exponent = 0

  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      rest.removeFirst()
    }
    var sawPoint = false
    var sawDigit = false
    while let byte = rest.first {
      if byte == UInt8(ascii: "."), !sawPoint {
        sawPoint = true
      } else if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
        sawDigit = true
        digits.append(byte - UInt8(ascii: "0"))
        if sawPoint { exponent -= 1 }
      } else {
        break
      }
      rest.removeFirst()
    }
    guard sawDigit else { return nil }
    if let mark = rest.first, mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E") {
      rest.removeFirst()
      guard let shift = Int16(String(decoding: rest, as: UTF8.self)) else { return nil }
      exponent += Int(shift)
      rest = []
    }
    guard rest.isEmpty else { return nil }
  }

  /// The number times 100, if what that leaves behind the point is below 10^-6.
  var wholeCents: Int64? {
    let position = exponent + 2
    var cents: Int64 = 0
    for (index, digit) in digits.enumerated() {
      // The power of ten that this digit stands for, in cents.
      let power = position + digits.count - 1 - index
      if power < 0 {
        if digit != 0, power >= -6 { return nil }
        continue
      }
      guard let next = Self.append(digit, to: cents) else { return nil }
      cents = next
    }
    if position > 0, cents != 0 {
      guard position <= 18 else { return nil }
      for _ in 0..<position {
        guard let next = Self.append(0, to: cents) else { return nil }
        cents = next
      }
    }
    return isNegative ? -cents : cents
  }

  private static func append(_ digit: UInt8, to cents: Int64) -> Int64? {
    let (tens, overflow) = cents.multipliedReportingOverflow(by: 10)
    let (sum, carry) = tens.addingReportingOverflow(Int64(digit))
    return overflow || carry ? nil : sum
  }
}
