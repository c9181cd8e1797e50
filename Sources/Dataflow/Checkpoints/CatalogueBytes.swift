import Bytes

extension ByteBuffer {
  /// A string behind its length in 16 bits.
  mutating func append(counted string: String) {
    append(UInt16(truncatingIfNeeded: string.utf8.count))
    append(utf8: string)
  }

  /// Puts the CRC-32C of everything from byte 4 on into the first four bytes.
  mutating func sealChecksum() {
    let checksum = unsafe CRC32C.checksum(bytes.slice(4, count - 4))
    unsafe mutableBytes.storeBytes(of: checksum.littleEndian, as: UInt32.self)
  }
}

/// Reads the catalogue's entries: checks the sum and the version first, every length after.
@safe
struct CatalogueReader {
  // Valid as long as the transaction that the bytes came from: the reader is used within one call.
  private let bytes: UnsafeRawBufferPointer
  private let subject: String
  private var offset = 5

  init(_ bytes: UnsafeRawBufferPointer, subject: String, version: UInt8) throws(DataflowError) {
    unsafe self.bytes = unsafe bytes
    self.subject = subject
    guard bytes.count >= 5 else { throw damage("only \(bytes.count) bytes") }
    let found = unsafe bytes.little(UInt32.self, at: 0)
    guard unsafe found == CRC32C.checksum(bytes.slice(4, bytes.count - 4)) else { throw damage("the checksum differs") }
    let written = unsafe bytes[4]
    guard written <= version else {
      throw DataflowError(
        .newerFormat, subject, "written in format \(written), this library knows up to \(version); use a newer one")
    }
  }

  func damage(_ what: String) -> DataflowError {
    DataflowError(.damaged, subject, "its entry in the catalogue is damaged (\(what)); restore the store from a backup")
  }

  mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type = T.self) throws(DataflowError) -> T {
    guard unsafe bytes.count - offset >= MemoryLayout<T>.size else { throw damage("it ends early") }
    defer { offset += MemoryLayout<T>.size }
    return unsafe bytes.little(T.self, at: offset)
  }

  mutating func string() throws(DataflowError) -> String {
    let count = Int(try integer(UInt16.self))
    guard unsafe bytes.count - offset >= count else { throw damage("it ends early") }
    defer { offset += count }
    guard let string = unsafe String(validating: bytes.slice(offset, count), as: UTF8.self) else {
      throw damage("a name is not UTF-8")
    }
    return string
  }
}
