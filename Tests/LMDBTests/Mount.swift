import Foundation
import Glibc

/// File systems of their own for tests, where this process is allowed to mount.
enum Mount {
  /// A file system in memory of `size` bytes.
  static func memory(_ size: Int, at path: String) -> Bool {
    mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0
  }

  static func bindReadOnly(_ source: String, at path: String) -> Bool {
    let flags = UInt(MS_BIND)
    guard mount(source, path, nil, flags, nil) == 0 else { return false }
    if mount(nil, path, nil, flags | UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0 { return true }
    remove(path)
    return false
  }

  static func remove(_ path: String) { umount2(path, Int32(MNT_DETACH)) }
}
