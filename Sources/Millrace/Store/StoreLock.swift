import Glibc

/// The claim of one writer on a store: a lock on its LOCK file, which names the process and ends with it.
@safe
final class StoreLock: Sendable {
  static let fileName = "LOCK"
  private let descriptor: Int32

  /// Claims the store at `folder`.
  ///
  /// - Throws: `alreadyOpen` with the other's process number.
  init(folder: String) throws {
    let file = folder + "/" + StoreLock.fileName
    let claimed = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    if claimed < 0 { throw StoreFormat.systemError(file, "open") }
    if flock(claimed, LOCK_EX | LOCK_NB) != 0 {
      let owner = StoreLock.owner(claimed)
      close(claimed)
      let who = owner == "\(getpid())" ? "this process" : "process \(owner)"
      throw StoreError(
        .alreadyOpen, path: folder,
        detail: "\(who) has the store open for writing; close it there, or open it here for reading")
    }
    // Only now: an initialiser that throws behind this runs `deinit`, which would close it a second time.
    descriptor = claimed
    ftruncate(descriptor, 0)
    let text = Array("\(getpid())\n".utf8)
    _ = unsafe text.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  deinit {
    // Not by closing alone: a child process that is just being started holds the descriptor, too, until it has begun.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  private static func owner(_ descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    let text = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    return text.split(separator: "\n").first.map(String.init) ?? "unknown"
  }
}
