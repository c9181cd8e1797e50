internal import Bytes

/// Lists of scalars: fixed-width elements lie packed, little-endian; strings each behind a `UInt32` length. The number
/// of elements follows from the bytes.
enum ListCoding {
  static func append<E: FieldScalar>(_ list: [E], to buffer: inout ByteBuffer) {
    if let strings = list as? [String] {
      for var string in strings {
        string.withUTF8 { bytes in
          buffer.append(UInt32(truncatingIfNeeded: bytes.count))
          unsafe buffer.append(UnsafeRawBufferPointer(bytes))
        }
      }
      return
    }
    unsafe list.withUnsafeBytes { unsafe buffer.append($0) }
  }

  /// The list in `bytes`; `nil` if they are none.
  static func decode<E: FieldScalar>(_ bytes: UnsafeRawBufferPointer) -> [E]? {
    guard let width = E.fieldType.fixedWidth else { return unsafe strings(bytes) as? [E] }
    guard bytes.count % width == 0 else { return nil }
    // A Bool must be 0 or 1 in memory; every other scalar has a value for any bits.
    if E.fieldType == .bool, unsafe bytes.contains(where: { $0 > 1 }) { return nil }
    let count = bytes.count / width
    return unsafe [E](unsafeUninitializedCapacity: count) { target, initialized in
      unsafe UnsafeMutableRawBufferPointer(target).copyMemory(from: bytes)
      initialized = count
    }
  }

  private static func strings(_ bytes: UnsafeRawBufferPointer) -> [String]? {
    var strings: [String] = []
    var offset = 0
    while offset < bytes.count {
      guard bytes.count - offset >= 4 else { return nil }
      let length = unsafe Int(bytes.little(UInt32.self, at: offset))
      offset += 4
      guard length <= bytes.count - offset else { return nil }
      guard let string = unsafe makeString(bytes.slice(offset, length)) else { return nil }
      strings.append(string)
      offset += length
    }
    return strings
  }
}
