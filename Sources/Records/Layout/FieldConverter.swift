internal import Bytes

/// How a property whose memory is not its stored form (an enum, a list) is read from memory and put there.
///
/// `memory` is the address of the property itself. The `store` functions initialise it, or answer false and leave it
/// uninitialised when the property's type has no such value.
///
/// A class, so that a plan can point to it without counting references. Stateless but for what subclasses say, hence
/// Sendable.
class FieldConverter: @unchecked Sendable {
  func isNull(_: UnsafeRawPointer) -> Bool { false }
  /// The bits of a number in the low bytes of the word; `nil` for nil, and for what is no number.
  func bits(_: UnsafeRawPointer) -> UInt64? { nil }
  /// Appends a string or list; false for nil, and for a number.
  func append(_: UnsafeRawPointer, to _: inout ByteBuffer) -> Bool { false }
  func storeNull(_: UnsafeMutableRawPointer) -> Bool { false }
  func store(bits _: UInt64, _: UnsafeMutableRawPointer) -> Bool { false }
  func store(bytes _: UnsafeRawBufferPointer, _: UnsafeMutableRawPointer) -> Bool { false }
}

/// The optional of what `base` converts. `base` puts a value of `Wrapped` into memory of its own, from which it is
/// moved: how an optional lies in memory is the compiler's business.
final class OptionalConverter<Wrapped>: FieldConverter, @unchecked Sendable {
  private let base: FieldConverter

  init(base: FieldConverter) { self.base = base }

  override func isNull(_ memory: UnsafeRawPointer) -> Bool {
    unsafe memory.assumingMemoryBound(to: Wrapped?.self).pointee == nil
  }

  override func bits(_ memory: UnsafeRawPointer) -> UInt64? {
    guard let value = unsafe memory.assumingMemoryBound(to: Wrapped?.self).pointee else { return nil }
    return unsafe withUnsafePointer(to: value) { unsafe base.bits(UnsafeRawPointer($0)) }
  }

  override func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    guard let value = unsafe memory.assumingMemoryBound(to: Wrapped?.self).pointee else { return false }
    return unsafe withUnsafePointer(to: value) { unsafe base.append(UnsafeRawPointer($0), to: &buffer) }
  }

  override func storeNull(_ memory: UnsafeMutableRawPointer) -> Bool {
    unsafe memory.initializeMemory(as: Wrapped?.self, to: nil)
    return true
  }

  override func store(bits: UInt64, _ memory: UnsafeMutableRawPointer) -> Bool {
    unsafe store(memory) { unsafe base.store(bits: bits, $0) }
  }

  override func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool {
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
final class NumberConverter<R: RawRepresentable>: FieldConverter, @unchecked Sendable where R.RawValue: RawNumber {
  override func bits(_ memory: UnsafeRawPointer) -> UInt64? {
    unsafe memory.assumingMemoryBound(to: R.self).pointee.rawValue.rawBits
  }

  override func store(bits: UInt64, _ memory: UnsafeMutableRawPointer) -> Bool {
    guard let value = R(rawValue: R.RawValue(rawBits: bits)) else { return false }
    unsafe memory.initializeMemory(as: R.self, to: value)
    return true
  }
}

/// A string-raw type.
final class StringConverter<R: RawRepresentable>: FieldConverter, @unchecked Sendable where R.RawValue == String {
  // For types that are a byte: most enums.
  private let names: ByteNames? = MemoryLayout<R>.size == 1 && _isPOD(R.self) ? ByteNames() : nil

  override func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    if let names, unsafe names.append(memory.load(as: UInt8.self), to: &buffer) { return true }
    var text = unsafe memory.assumingMemoryBound(to: R.self).pointee.rawValue
    text.withUTF8 { utf8 in
      let bytes = UnsafeRawBufferPointer(utf8)
      unsafe buffer.append(bytes)
      if let names { unsafe names.learn(nameOf: memory.load(as: UInt8.self), bytes) }
    }
    return true
  }

  override func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool {
    if let names, let value = unsafe names.value(of: bytes) {
      unsafe memory.storeBytes(of: value, as: UInt8.self)
      return true
    }
    guard let text = unsafe makeString(bytes), let value = R(rawValue: text) else { return false }
    unsafe memory.initializeMemory(as: R.self, to: value)
    if let names { unsafe names.learn(valueOf: bytes, memory.load(as: UInt8.self)) }
    return true
  }
}

/// An array of scalars.
final class ListConverter<E: FieldScalar>: FieldConverter, @unchecked Sendable {
  override func append(_ memory: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    unsafe ListCoding.append(memory.assumingMemoryBound(to: [E].self).pointee, to: &buffer)
    return true
  }

  override func store(bytes: UnsafeRawBufferPointer, _ memory: UnsafeMutableRawPointer) -> Bool {
    guard let list: [E] = unsafe ListCoding.decode(bytes) else { return false }
    unsafe memory.initializeMemory(as: [E].self, to: list)
    return true
  }
}
