internal import Bytes

/// Moving one field between a struct's memory and its stored form, by code that knows no type.
///
/// `base` is the address of the struct, aligned as its type. Reading wants an initialised value there; `initialize`
/// puts a value into a field that holds none, and leaves it so when it answers false.
extension RecordLayout.Field {
  /// Whether the field is nil.
  @unsafe
  public func isNull(in base: UnsafeRawPointer) -> Bool {
    guard isOptional else { return false }
    let memory = unsafe base + offset
    if let converter { return unsafe converter.isNull(memory) }
    switch type {
    case .bool: return unsafe memory.assumingMemoryBound(to: Bool?.self).pointee == nil
    case .string: return unsafe memory.assumingMemoryBound(to: String?.self).pointee == nil
    case .bytes: return unsafe memory.assumingMemoryBound(to: [UInt8]?.self).pointee == nil
    default: return unsafe memory.load(fromByteOffset: size - 1, as: UInt8.self) != 0
    }
  }

  /// The bits of a number of at most eight bytes, in the low bytes of the word, the others zero; `nil` if the field is
  /// nil or is not such a number. `type.integer(fromBits:)` makes an `Int64` of them.
  @unsafe
  public func bits(in base: UnsafeRawPointer) -> UInt64? {
    let memory = unsafe base + offset
    if let converter { return unsafe converter.bits(memory).map { $0 & mask } }
    guard let width = type.fixedWidth, width <= 8 else { return nil }
    if isOptional {
      if type == .bool { return unsafe memory.assumingMemoryBound(to: Bool?.self).pointee.map { $0 ? 1 : 0 } }
      if unsafe memory.load(fromByteOffset: width, as: UInt8.self) != 0 { return nil }
    }
    switch width {
    case 1: return unsafe UInt64(memory.load(as: UInt8.self))
    case 2: return unsafe UInt64(memory.loadUnaligned(as: UInt16.self))
    case 4: return unsafe UInt64(memory.loadUnaligned(as: UInt32.self))
    default: return unsafe memory.loadUnaligned(as: UInt64.self)
    }
  }

  /// Calls `body` with the bytes of a string (UTF-8), byte array, UUID or list; `nil` if the field is nil or a number.
  @unsafe
  public func withBytes<R>(in base: UnsafeRawPointer, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
    let memory = unsafe base + offset
    if let converter {
      var scratch = ByteBuffer(capacity: 64)
      guard unsafe converter.append(memory, to: &scratch) else { return nil }
      return unsafe body(scratch.bytes)
    }
    switch type {
    case .string:
      if isOptional {
        guard var text = unsafe memory.assumingMemoryBound(to: String?.self).pointee else { return nil }
        return text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
      }
      var text = unsafe memory.assumingMemoryBound(to: String.self).pointee
      return text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    case .bytes:
      if isOptional {
        return unsafe memory.assumingMemoryBound(to: [UInt8]?.self).pointee?.withUnsafeBytes { unsafe body($0) }
      }
      return unsafe memory.assumingMemoryBound(to: [UInt8].self).pointee.withUnsafeBytes { unsafe body($0) }
    case .uuid:
      if isOptional, unsafe memory.load(fromByteOffset: 16, as: UInt8.self) != 0 { return nil }
      return unsafe body(UnsafeRawBufferPointer(start: memory, count: 16))
    default: return nil
    }
  }

  /// Appends what ``withBytes(in:_:)`` gives; false if there is nothing.
  func append(in base: UnsafeRawPointer, to buffer: inout ByteBuffer) -> Bool {
    if let converter { return unsafe converter.append(base + offset, to: &buffer) }
    return unsafe withBytes(in: base) { unsafe buffer.append($0) } != nil
  }

  /// The bits that a value of the type has.
  private var mask: UInt64 { UInt64.max >> UInt64(64 - 8 * (type.fixedWidth ?? 8)) }
}

extension RecordLayout.Field {
  /// Makes the field nil; false if it is not optional.
  @unsafe
  public func initializeNull(in base: UnsafeMutableRawPointer) -> Bool {
    guard isOptional else { return false }
    let memory = unsafe base + offset
    if let converter { return unsafe converter.storeNull(memory) }
    switch type {
    case .bool: unsafe memory.initializeMemory(as: Bool?.self, to: nil)
    case .string: unsafe memory.initializeMemory(as: String?.self, to: nil)
    case .bytes: unsafe memory.initializeMemory(as: [UInt8]?.self, to: nil)
    default:
      unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size - 1)
      unsafe memory.storeBytes(of: 1, toByteOffset: size - 1, as: UInt8.self)
    }
    return true
  }

  /// Puts a number there, given by its low bytes; false if it is no number of at most eight bytes, a `Bool` other than
  /// 0 and 1, or an enum without that case.
  @unsafe
  public func initialize(bits: UInt64, in base: UnsafeMutableRawPointer) -> Bool {
    let memory = unsafe base + offset
    if let converter { return unsafe converter.store(bits: bits, memory) }
    guard let width = type.fixedWidth, width <= 8 else { return false }
    if type == .bool {
      guard bits <= 1 else { return false }
      if isOptional {
        unsafe memory.initializeMemory(as: Bool?.self, to: bits == 1)
      } else {
        unsafe memory.initializeMemory(as: Bool.self, to: bits == 1)
      }
      return true
    }
    switch width {
    case 1: unsafe memory.storeBytes(of: UInt8(truncatingIfNeeded: bits), as: UInt8.self)
    case 2: unsafe memory.storeBytes(of: UInt16(truncatingIfNeeded: bits), as: UInt16.self)
    case 4: unsafe memory.storeBytes(of: UInt32(truncatingIfNeeded: bits), as: UInt32.self)
    default: unsafe memory.storeBytes(of: bits, as: UInt64.self)
    }
    if isOptional { unsafe memory.storeBytes(of: 0, toByteOffset: width, as: UInt8.self) }
    return true
  }

  /// Puts a string (UTF-8), byte array, UUID or list there; false if the bytes are none, or the field is a number.
  @unsafe
  public func initialize(bytes: UnsafeRawBufferPointer, in base: UnsafeMutableRawPointer) -> Bool {
    let memory = unsafe base + offset
    if let converter { return unsafe converter.store(bytes: bytes, memory) }
    switch type {
    case .string:
      guard let text = unsafe makeString(bytes) else { return false }
      if isOptional {
        unsafe memory.initializeMemory(as: String?.self, to: text)
      } else {
        unsafe memory.initializeMemory(as: String.self, to: text)
      }
    case .bytes:
      if isOptional {
        unsafe memory.initializeMemory(as: [UInt8]?.self, to: [UInt8](bytes))
      } else {
        unsafe memory.initializeMemory(as: [UInt8].self, to: [UInt8](bytes))
      }
    case .uuid:
      guard bytes.count == 16, let source = bytes.baseAddress else { return false }
      unsafe memory.copyMemory(from: source, byteCount: 16)
      if isOptional { unsafe memory.storeBytes(of: 0, toByteOffset: 16, as: UInt8.self) }
    default: return false
    }
    return true
  }

  /// Ends the life of the field's value: needed before its memory is given back or initialised again.
  @unsafe
  public func deinitialize(in base: UnsafeMutableRawPointer) {
    if let destroy = unsafe destroy { unsafe destroy(base + offset) }
  }
}
