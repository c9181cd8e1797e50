import Glibc
import LMDB
import Synchronization

/// One holder per group: a lock that ends with the process, however it ends.
final class GroupLock: Sendable {
  private let descriptor: Mutex<Int32?>

  private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { release() }

  /// Takes the lock of `group`.
  ///
  /// - Throws: `groupInUse`, naming the process that has it.
  static func take(_ group: String, in log: String) throws(EventLogError) -> GroupLock {
    let path = GroupFiles.lockPath(group, in: log)
    try LogFiles.makeDirectory(GroupFiles.folder(of: log))
    // Somebody who only looks who holds the group has it for a moment: that is no holder.
    var attempts = 25
    while true {
      let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
      if descriptor < 0 { throw EventLogError(LogFiles.systemError(errno, path), "opening a group's lock failed") }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        // Whoever deleted the group may have removed the file between our two steps.
        if isStill(descriptor, path) {
          writeOwner(descriptor)
          return GroupLock(descriptor)
        }
      } else if attempts == 0 {
        let owner = readOwner(descriptor).map { "process \($0)" } ?? "another process"
        Glibc.close(descriptor)
        throw EventLogError(
          .groupInUse,
          "the group \(group) is held by \(owner); end its subscriptions there, subscribe through the log that holds "
            + "it to share its partitions, or use another group", path: path)
      } else {
        attempts -= 1
        usleep(2000)
      }
      Glibc.close(descriptor)
    }
  }

  /// The number of the process that holds the group; nil if none does.
  static func holder(_ group: String, in log: String) -> Int? {
    let descriptor = unsafe open(GroupFiles.lockPath(group, in: log), O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
    defer { Glibc.close(descriptor) }
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
      flock(descriptor, LOCK_UN)
      return nil
    }
    return readOwner(descriptor) ?? 0
  }

  /// Not by closing alone: a child process that is just being started holds the descriptor, too, until it has begun.
  func release() {
    let held = descriptor.withLock { descriptor in
      defer { descriptor = nil }
      return descriptor
    }
    guard let held else { return }
    flock(held, LOCK_UN)
    Glibc.close(held)
  }

  private static func isStill(_ descriptor: Int32, _ path: String) -> Bool {
    var held = stat()
    var named = stat()
    guard unsafe fstat(descriptor, &held) == 0, unsafe stat(path, &named) == 0 else { return false }
    return held.st_ino == named.st_ino && held.st_dev == named.st_dev
  }

  private static func writeOwner(_ descriptor: Int32) {
    let text = Array("\(getpid())\n".utf8)
    ftruncate(descriptor, 0)
    _ = unsafe text.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  private static func readOwner(_ descriptor: Int32) -> Int? {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    return Int(String(decoding: bytes.prefix(max(count, 0)).prefix { $0 != 0x0A }, as: UTF8.self))
  }
}
