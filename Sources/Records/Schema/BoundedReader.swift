internal import Bytes

/// Reads from bytes of which nothing is believed: every step checks that it stays inside.
///
/// Valid only while the bytes are.
@safe
struct BoundedReader {
  private let bytes: UnsafeRawBufferPointer
  private let subject: String
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer, subject: String) {
    unsafe self.bytes = unsafe bytes
    self.subject = subject
  }

  mutating func next<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(RecordsError) -> T {
    let slice = try unsafe nextBytes(MemoryLayout<T>.size)
    return unsafe slice.little(type, at: 0)
  }

  mutating func nextString(_ count: Int) throws(RecordsError) -> String {
    let start = offset
    let slice = try unsafe nextBytes(count)
    guard let string = unsafe String(validating: slice, as: UTF8.self) else {
      throw RecordsError(.malformed, offset: start, "\(subject) has a string that is not UTF-8")
    }
    return string
  }

  mutating func nextBytes(_ count: Int) throws(RecordsError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= bytes.count - offset else {
      throw RecordsError(
        .malformed, offset: offset, "\(subject) ends early: \(count) bytes wanted, \(bytes.count - offset) left",
        advice: "the data is cut short or damaged")
    }
    defer { offset += count }
    return unsafe bytes.slice(offset, count)
  }

  func end() throws(RecordsError) {
    guard offset == bytes.count else {
      throw RecordsError(.malformed, offset: offset, "\(subject) has \(bytes.count - offset) bytes too many")
    }
  }
}
