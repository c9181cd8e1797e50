/// A number that a `RawRepresentable` type can stand for.
protocol RawNumber: FieldScalar {
  /// The value's bits in the low bytes; whatever is above them is not looked at.
  var rawBits: UInt64 { get }
  init(rawBits: UInt64)
}

extension RawNumber where Self: FixedWidthInteger {
  var rawBits: UInt64 { UInt64(truncatingIfNeeded: self) }
  init(rawBits: UInt64) { self.init(truncatingIfNeeded: rawBits) }
}

extension Int8: RawNumber {}
extension Int16: RawNumber {}
extension Int32: RawNumber {}
extension Int64: RawNumber {}
extension Int: RawNumber {}
extension UInt8: RawNumber {}
extension UInt16: RawNumber {}
extension UInt32: RawNumber {}
extension UInt64: RawNumber {}
extension UInt: RawNumber {}

extension Float: RawNumber {
  var rawBits: UInt64 { UInt64(bitPattern) }
  init(rawBits: UInt64) { self.init(bitPattern: UInt32(truncatingIfNeeded: rawBits)) }
}

extension Double: RawNumber {
  var rawBits: UInt64 { bitPattern }
  init(rawBits: UInt64) { self.init(bitPattern: rawBits) }
}
