import Bytes
import Glibc
import LMDB

/// The journal of a topic: one file beside its segments, `journal`, into which frames are written without a sync.
///
/// What was written to it survives the process, however that ends: the operating system has it. It holds what is not
/// yet in a segment, from the beginning of the file on; once that was committed, the next frame is written over it.
final class JournalFile {
  static let name = "journal"

  let path: String
  private var descriptor: Int32 = -1

  init(in directory: String) { path = directory + "/" + Self.name }

  deinit { close() }

  /// Writes `bytes` at `position`.
  ///
  /// - Throws: `diskFull` and others; then nothing that was written there counts: the frame is not whole, and the next
  ///   one is written over it.
  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws(EventLogError) {
    try open()
    var written = 0
    while written < bytes.count {
      let rest = unsafe bytes.slice(written, bytes.count - written)
      let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, position + written)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 {
        throw EventLogError(LogFiles.systemError(count == 0 ? ENOSPC : errno, path), "writing the journal failed")
      }
      written += count
    }
  }

  private func open() throws(EventLogError) {
    if descriptor >= 0 { return }
    descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw EventLogError(LogFiles.systemError(errno, path), "opening the journal failed") }
  }

  private func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Removes the file, in which nothing is needed any more.
  func remove() throws(EventLogError) {
    close()
    if unsafe unlink(path) != 0 && errno != ENOENT {
      throw EventLogError(LogFiles.systemError(errno, path), "removing the journal failed")
    }
  }

  /// The whole file; nil if there is none.
  static func contents(in directory: String) throws(EventLogError) -> [UInt8]? {
    let path = directory + "/" + name
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw EventLogError(LogFiles.systemError(errno, path), "opening the journal failed")
    }
    defer { Glibc.close(descriptor) }
    let size = LogFiles.size(path) ?? 0
    var failure: Int32 = 0
    let contents = unsafe [UInt8](unsafeUninitializedCapacity: size) { bytes, count in
      while count < size {
        let got = unsafe pread(descriptor, bytes.baseAddress.map { unsafe $0 + count }, size - count, count)
        if got < 0 && errno == EINTR { continue }
        if got < 0 { failure = errno }
        if got <= 0 { return }
        count += got
      }
    }
    if failure != 0 { throw EventLogError(LogFiles.systemError(failure, path), "reading the journal failed") }
    return contents
  }
}
