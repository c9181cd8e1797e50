import Glibc

/// The bytes of a file, a chunk at a time; the file is closed when the last reference goes.
package final class FileChunks {
  private let descriptor: Int32
  private let path: String

  package init(path: String) throws(AdsError) {
    self.path = path
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      throw AdsError(
        .fileAccess, "cannot be opened: \(Self.message(errno))", at: .init(file: path),
        remedy: "Give the folder of the data set with --data; the project keeps it in examples/ads/Data")
    }
  }

  deinit { close(descriptor) }

  /// The next bytes, at most 64 KB; nil at the end of the file.
  package func next() throws(AdsError) -> [UInt8]? {
    while true {
      var failure: Int32 = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
        let read = unsafe read(descriptor, buffer.baseAddress, buffer.count)
        failure = read < 0 ? errno : 0
        count = max(0, read)
      }
      if failure == EINTR { continue }
      if failure != 0 {
        throw AdsError(
          .fileAccess, "cannot be read: \(Self.message(failure))", at: .init(file: path),
          remedy: "Check the disk and the file, then run again")
      }
      return bytes.isEmpty ? nil : bytes
    }
  }

  private static func message(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
}
