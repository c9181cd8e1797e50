internal import Bytes

/// How a property whose memory is not its stored form (an enum, a list) is read from memory and put there.
///
/// `memory` is the address of the property itself. The `store` functions initialise it, or answer false and leave it
/// uninitialised when the property's type has no such value.
protocol FieldConverter: Sendable {
  func isNull(_ memory: UnsafeRawPointer) -> Bool
  /// The bits of a number in the low bytes of the word; `nil` for nil, and for what is no number.
  func bits(_ memory: UnsafeRawPointer) -> UInt64?
  /// Appends a string or list; false for nil, and for a number.
  func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool
  func storeNull(_ memory: UnsafeMutableRawPointer) -> Bool
  func store(bits: UInt64, _ memory: UnsafeMutableRawPointer) -> Bool
  func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool
}

// What a converter of one kind of value has no use for.
extension FieldConverter {
  func isNull(_: UnsafeRawPointer) -> Bool { false }
  func bits(_: UnsafeRawPointer) -> UInt64? { nil }
  func append(_: UnsafeRawPointer, to _: inout ByteBuffer) -> Bool { false }
  func storeNull(_: UnsafeMutableRawPointer) -> Bool { false }
  func store(bits _: UInt64, _: UnsafeMutableRawPointer) -> Bool { false }
  func store(bytes _: UnsafeRawBufferPointer, _: UnsafeMutableRawPointer) -> Bool { false }
}

/// The optional of what `Base` converts. `Base` puts a value of `Wrapped` into memory of its own, from which it is
/// moved: how an optional lies in memory is the compiler's business.
struct OptionalConverter<Wrapped, Base: FieldConverter>: FieldConverter {
  let base: Base

  func isNull(_ memory: UnsafeRawPointer) -> Bool {
    unsafe memory.assumingMemoryBound(to: Wrapped?.self).pointee == nil
  }

  func bits(_ memory: UnsafeRawPointer) -> UInt64? {
    guard let value = unsafe memory.assumingMemoryBound(to: Wrapped?.self).pointee else { return nil }
    return unsafe withUnsafePointer(to: value) { unsafe base.bits(UnsafeRawPointer($0)) }
  }

  func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    guard let value = unsafe memory.assumingMemoryBound(to: Wrapped?.self).pointee else { return false }
    return unsafe withUnsafePointer(to: value) { unsafe base.append(UnsafeRawPointer($0), to: &buffer) }
  }

  func storeNull(_ memory: UnsafeMutableRawPointer) -> Bool {
    unsafe memory.initializeMemory(as: Wrapped?.self, to: nil)
    return true
  }

  func store(bits: UInt64, _ memory: UnsafeMutableRawPointer) -> Bool {
    unsafe store(memory) { unsafe base.store(bits: bits, $0) }
  }

  func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool {
    unsafe store(memory) { unsafe base.store(bytes: bytes, $0) }
  }

  private func store(_ memory: UnsafeMutableRawPointer, _ make: (UnsafeMutableRawPointer) -> Bool) -> Bool {
    unsafe withUnsafeTemporaryAllocation(of: Wrapped.self, capacity: 1) { slot in
      let wrapped = unsafe slot.baseAddress.unsafelyUnwrapped
      guard unsafe make(UnsafeMutableRawPointer(wrapped)) else { return false }
      unsafe memory.initializeMemory(as: Wrapped?.self, to: wrapped.move())
      return true
    }
  }
}

/// A number-raw type.
struct NumberConverter<R: RawRepresentable>: FieldConverter where R.RawValue: RawNumber {
  func bits(_ memory: UnsafeRawPointer) -> UInt64? {
    unsafe memory.assumingMemoryBound(to: R.self).pointee.rawValue.rawBits
  }

  func store(bits: UInt64, _ memory: UnsafeMutableRawPointer) -> Bool {
    guard let value = R(rawValue: R.RawValue(rawBits: bits)) else { return false }
    unsafe memory.initializeMemory(as: R.self, to: value)
    return true
  }
}

/// A string-raw type.
struct StringConverter<R: RawRepresentable>: FieldConverter where R.RawValue == String {
  func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    unsafe buffer.append(utf8: memory.assumingMemoryBound(to: R.self).pointee.rawValue)
    return true
  }

  func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool {
    guard let text = unsafe makeString(bytes), let value = R(rawValue: text) else {
      return false
    }
    unsafe memory.initializeMemory(as: R.self, to: value)
    return true
  }
}

/// An array of scalars.
struct ListConverter<E: FieldScalar>: FieldConverter {
  func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    unsafe ListCoding.append(memory.assumingMemoryBound(to: [E].self).pointee, to: &buffer)
    return true
  }

  func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool {
    guard let list: [E] = unsafe ListCoding.decode(bytes) else { return false }
    unsafe memory.initializeMemory(as: [E].self, to: list)
    return true
  }
}
