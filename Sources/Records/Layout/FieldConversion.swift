public import Bytes

/// How a property whose memory is not its stored form (an enum, a list) is read from memory and put there.
///
/// The closures are made once per layout; each takes the address of the property itself. `load` gives `nil` for a nil
/// property; `store` initialises the property and answers false, having initialised nothing, when the property's type
/// has no such value.
enum FieldConversion: Sendable {
  /// By the bits of a number, in the low bytes of the word.
  case bits(
    load: @Sendable (UnsafeRawPointer) -> UInt64?, store: @Sendable (UInt64?, UnsafeMutableRawPointer) -> Bool)
  /// By a string.
  case string(
    load: @Sendable (UnsafeRawPointer) -> String?, store: @Sendable (String?, UnsafeMutableRawPointer) -> Bool)
  /// By packed elements; `load` appends them and answers whether the property was not nil.
  case list(
    load: @Sendable (UnsafeRawPointer, inout ByteBuffer) -> Bool,
    store: @Sendable (UnsafeRawBufferPointer?, UnsafeMutableRawPointer) -> Bool)
}

/// A number that a `RawRepresentable` type can stand for.
protocol RawNumber {
  static var fieldType: FieldType { get }
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

extension FieldConversion {
  /// The conversion of a number-raw type, or of its optional.
  static func number<R: RawRepresentable>(_: R.Type, isOptional: Bool) -> FieldConversion where R.RawValue: RawNumber {
    if isOptional {
      return .bits(
        load: { unsafe $0.assumingMemoryBound(to: R?.self).pointee?.rawValue.rawBits },
        store: { bits, memory in
          var value: R?
          if let bits {
            value = R(rawValue: R.RawValue(rawBits: bits))
            if value == nil { return false }
          }
          unsafe memory.initializeMemory(as: R?.self, to: value)
          return true
        })
    }
    return .bits(
      load: { unsafe $0.assumingMemoryBound(to: R.self).pointee.rawValue.rawBits },
      store: { bits, memory in
        guard let bits, let value = R(rawValue: R.RawValue(rawBits: bits)) else { return false }
        unsafe memory.initializeMemory(as: R.self, to: value)
        return true
      })
  }

  /// The conversion of a string-raw type, or of its optional.
  static func string<R: RawRepresentable>(_: R.Type, isOptional: Bool) -> FieldConversion where R.RawValue == String {
    if isOptional {
      return .string(
        load: { unsafe $0.assumingMemoryBound(to: R?.self).pointee?.rawValue },
        store: { text, memory in
          var value: R?
          if let text {
            value = R(rawValue: text)
            if value == nil { return false }
          }
          unsafe memory.initializeMemory(as: R?.self, to: value)
          return true
        })
    }
    return .string(
      load: { unsafe $0.assumingMemoryBound(to: R.self).pointee.rawValue },
      store: { text, memory in
        guard let text, let value = R(rawValue: text) else { return false }
        unsafe memory.initializeMemory(as: R.self, to: value)
        return true
      })
  }

  /// The conversion of a list, or of its optional.
  static func list<E: FieldScalar>(_: E.Type, isOptional: Bool) -> FieldConversion {
    if isOptional {
      return .list(
        load: { memory, buffer in
          guard let list = unsafe memory.assumingMemoryBound(to: [E]?.self).pointee else { return false }
          ListCoding.append(list, to: &buffer)
          return true
        },
        store: { bytes, memory in
          var list: [E]?
          if let bytes = unsafe bytes {
            list = unsafe ListCoding.decode(bytes)
            if list == nil { return false }
          }
          unsafe memory.initializeMemory(as: [E]?.self, to: list)
          return true
        })
    }
    return .list(
      load: { memory, buffer in
        unsafe ListCoding.append(memory.assumingMemoryBound(to: [E].self).pointee, to: &buffer)
        return true
      },
      store: { bytes, memory in
        guard let bytes = unsafe bytes, let list: [E] = unsafe ListCoding.decode(bytes) else { return false }
        unsafe memory.initializeMemory(as: [E].self, to: list)
        return true
      })
  }
}
