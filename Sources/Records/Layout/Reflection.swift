@_spi(Reflection) import Swift

/// One stored property as the runtime describes it.
struct StoredProperty {
  let name: String
  /// Bytes from the start of the struct.
  let offset: Int
  let type: any Any.Type
}

/// The only place that asks the runtime for the stored properties of a type.
enum Reflection {
  /// The stored properties of the struct `type`, in declaration order; `nil` if the runtime does not know them all.
  static func storedProperties(of type: any Any.Type) -> [StoredProperty]? {
    var properties: [StoredProperty] = []
    let complete = unsafe _forEachField(of: type) { name, offset, fieldType, _ in
      unsafe properties.append(StoredProperty(name: String(cString: name), offset: offset, type: fieldType))
      return true
    }
    return complete ? properties : nil
  }

  /// Size and alignment of any type.
  static func memory(of type: any Any.Type) -> (size: Int, alignment: Int) {
    func open<T>(_: T.Type) -> (size: Int, alignment: Int) { (MemoryLayout<T>.size, MemoryLayout<T>.alignment) }
    return _openExistential(type, do: open)
  }

  /// What ends the life of a value of `type` at an address; `nil` if its memory can just be forgotten.
  static func destroyer(of type: any Any.Type) -> (@Sendable (UnsafeMutableRawPointer) -> Void)? {
    func open<T>(_: T.Type) -> (@Sendable (UnsafeMutableRawPointer) -> Void)? {
      if _isPOD(T.self) { return nil }
      return { unsafe $0.assumingMemoryBound(to: T.self).deinitialize(count: 1) }
    }
    return unsafe _openExistential(type, do: open)
  }
}
