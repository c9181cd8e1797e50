internal import Bytes

/// What a property's Swift type means as a stored type.
struct DescribedType {
  let type: FieldType
  var element: FieldType?
  var isOptional = false
  var converter: FieldConverter?

  func field(_ name: String, offset: Int, type swiftType: any Any.Type) -> RecordLayout.Field? {
    let size = Reflection.memory(of: swiftType).size
    if converter == nil, let width = type.fixedWidth {
      // Plain memory, or with the tag byte behind it that `OptionalProbe` found.
      guard size == (isOptional && type != .bool ? width + 1 : width) else { return nil }
    }
    return unsafe RecordLayout.Field(
      name: name, type: type, element: element, isOptional: isOptional, offset: offset, size: size,
      converter: converter, destroy: Reflection.destroyer(of: swiftType), swiftType: ObjectIdentifier(swiftType))
  }
}

private protocol AnyOptional {
  static var wrapped: any Any.Type { get }
}
extension Optional: AnyOptional {
  fileprivate static var wrapped: any Any.Type { Wrapped.self }
}

private protocol AnyArray {
  static var element: any Any.Type { get }
}
extension Array: AnyArray {
  fileprivate static var element: any Any.Type { Element.self }
}

extension FieldDescriber {
  /// What `type` is stored as; `nil` if it is not.
  static func describe(_ type: any Any.Type) -> DescribedType? {
    if let optional = type as? any AnyOptional.Type { return describe(wrapped: optional.wrapped, isOptional: true) }
    return describe(wrapped: type, isOptional: false)
  }

  private static func describe(wrapped type: any Any.Type, isOptional: Bool) -> DescribedType? {
    if let scalar = type as? any FieldScalar.Type {
      guard !isOptional || OptionalProbe.hasKnownLayout(scalar) else { return nil }
      return DescribedType(type: scalar.fieldType, isOptional: isOptional)
    }
    if let array = type as? any AnyArray.Type {
      guard let element = array.element as? any FieldScalar.Type else { return nil }
      if element.fieldType == .uint8 { return DescribedType(type: .bytes, isOptional: isOptional) }
      func open<E: FieldScalar>(_: E.Type) -> FieldConverter {
        isOptional ? OptionalConverter<[E]>(base: ListConverter<E>()) : ListConverter<E>()
      }
      return DescribedType(
        type: .list, element: element.fieldType, isOptional: isOptional, converter: open(element))
    }
    if isFoundationUUID(type) {
      guard !isOptional || OptionalProbe.hasKnownLayout(type, width: 16) else { return nil }
      return DescribedType(type: .uuid, isOptional: isOptional)
    }
    return describe(raw: type, isOptional: isOptional)
  }

  /// An enum, or another type, that stands for a number or a string.
  private static func describe(raw type: any Any.Type, isOptional: Bool) -> DescribedType? {
    func string<R: RawRepresentable<String>>(_: R.Type) -> DescribedType {
      let base = StringConverter<R>()
      return DescribedType(
        type: .string, isOptional: isOptional, converter: isOptional ? OptionalConverter<R>(base: base) : base)
    }
    func number<R: RawRepresentable>(_: R.Type) -> DescribedType where R.RawValue: RawNumber {
      let base = NumberConverter<R>()
      return DescribedType(
        type: R.RawValue.fieldType, isOptional: isOptional,
        converter: isOptional ? OptionalConverter<R>(base: base) : base)
    }
    if let raw = type as? any RawRepresentable<String>.Type { return string(raw) }
    if let raw = type as? any RawRepresentable<Int>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<UInt8>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<Int8>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<Int16>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<Int32>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<Int64>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<UInt16>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<UInt32>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<UInt64>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<UInt>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<Float>.Type { return number(raw) }
    if let raw = type as? any RawRepresentable<Double>.Type { return number(raw) }
    return nil
  }

  /// Foundation's UUID is sixteen bytes in memory order. It is known by name: this module does not import Foundation.
  private static func isFoundationUUID(_ type: any Any.Type) -> Bool {
    let memory = Reflection.memory(of: type)
    guard memory.size == 16, memory.alignment == 1 else { return false }
    let name = String(reflecting: type)
    return name == "Foundation.UUID" || name == "FoundationEssentials.UUID"
  }
}

/// Finds out how the optional of a scalar lies in memory, instead of believing it.
enum OptionalProbe {
  /// Whether `nil` and a value of `type?` are told apart by a byte of 1 or 0 behind the value; for `Bool`, `String`
  /// and other types that are handled as Swift optionals there is nothing to know.
  static func hasKnownLayout(_ type: any FieldScalar.Type) -> Bool {
    guard type.fieldType != .bool, let width = type.fieldType.fixedWidth else { return true }
    return hasKnownLayout(type, width: width)
  }

  /// The same for any type of `width` bytes that has a value of all zero bits.
  static func hasKnownLayout(_ type: any Any.Type, width: Int) -> Bool {
    func open<T>(_: T.Type) -> Bool {
      guard MemoryLayout<T>.size == width, MemoryLayout<T?>.size == width + 1 else { return false }
      return unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 16) { scratch in
        guard let base = scratch.baseAddress else { return false }
        unsafe scratch.initializeMemory(as: UInt8.self, repeating: 0xFF)
        unsafe base.initializeMemory(as: T?.self, to: nil)
        let tagOfNil = unsafe scratch[width]
        unsafe scratch.initializeMemory(as: UInt8.self, repeating: 0)
        let zero = unsafe base.assumingMemoryBound(to: T.self).pointee
        unsafe scratch.initializeMemory(as: UInt8.self, repeating: 0xFF)
        unsafe base.initializeMemory(as: T?.self, to: zero)
        return unsafe tagOfNil == 1 && scratch[width] == 0 && scratch[..<width].allSatisfy { $0 == 0 }
      }
    }
    return _openExistential(type, do: open)
  }
}
