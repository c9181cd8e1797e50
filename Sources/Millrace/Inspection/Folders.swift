import Bytes
import Glibc
import LMDB

/// Small steps with folders that backups need.
enum Folders {
  /// The names in a folder; empty if it cannot be read.
  static func names(in folder: String) -> [String] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Bytes of a file, or of all files below a folder.
  static func size(of path: String) -> Int {
    if isFolder(path) { return names(in: path).reduce(0) { $0 + size(of: path + "/" + $1) } }
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Removes everything below a folder that this process made. Does not follow symbolic links.
  static func removeContents(of folder: String) throws {
    for name in names(in: folder) {
      let path = folder + "/" + name
      if isFolder(path) {
        try removeContents(of: path)
        if unsafe rmdir(path) != 0 { throw StoreFormat.systemError(path, "remove") }
      } else if unsafe unlink(path) != 0 {
        throw StoreFormat.systemError(path, "remove")
      }
    }
  }
}

extension StoreFormat {
  /// Copies the FORMAT file of the store at `source` into the folder `target`, synced.
  static func copy(from source: String, to target: String) throws {
    let descriptor = unsafe open(source + "/" + fileName, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw systemError(source + "/" + fileName, "read") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
    if count < 0 { throw systemError(source + "/" + fileName, "read") }
    let file = target + "/" + fileName
    let copy = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    if copy < 0 { throw systemError(file, "create") }
    defer { close(copy) }
    let written = unsafe bytes.withUnsafeBytes { unsafe write(copy, $0.baseAddress, count) }
    guard written == count, fsync(copy) == 0 else { throw systemError(file, "write") }
    do { try FileSync.folder(target) } catch { throw StoreError(.io, path: target, detail: "sync", cause: error) }
  }
}
