internal import Bytes

/// Reads from bytes of which nothing is believed: every step checks that it stays inside.
///
/// Valid only while the bytes are.
@safe
struct BoundedReader {
  private let bytes: UnsafeRawBufferPointer
  private let subject: String
  private let count: Int
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer, subject: String) {
    unsafe self.bytes = unsafe bytes
    self.subject = subject
    count = bytes.count
  }

  mutating func next<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(RecordsError) -> T {
    let slice = try unsafe nextBytes(MemoryLayout<T>.size)
    return unsafe slice.little(type, at: 0)
  }

  mutating func nextString(_ count: Int) throws(RecordsError) -> String {
    let start = offset
    let slice = try unsafe nextBytes(count)
    guard let string = unsafe makeString(slice) else {
      throw RecordsError(.malformed, offset: start, "\(subject) has a string that is not UTF-8")
    }
    return string
  }

  mutating func nextBytes(_ wanted: Int) throws(RecordsError) -> UnsafeRawBufferPointer {
    guard wanted >= 0, wanted <= count - offset else {
      throw RecordsError(
        .malformed, offset: offset, "\(subject) ends early: \(wanted) bytes wanted, \(count - offset) left",
        advice: "the data is cut short or damaged")
    }
    defer { offset += wanted }
    return unsafe bytes.slice(offset, wanted)
  }

  func end() throws(RecordsError) {
    guard offset == count else {
      throw RecordsError(.malformed, offset: offset, "\(subject) has \(count - offset) bytes too many")
    }
  }
}
