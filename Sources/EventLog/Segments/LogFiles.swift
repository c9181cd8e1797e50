import Glibc
import LMDB

/// The files of a log:
///
///     catalog.mdb, catalog.mdb-lock       names of topics and segments
///     writer.lock                         locked by the process that writes
///     <topic>/<segment number>.mdb        twenty digits
///     <topic>/<segment number>.mdb-lock   LMDB's readers of a live segment
///     <topic>/journal                     acknowledged and not yet in a segment; see `JournalFrame`
///     groups/…                            consumer groups, see `GroupFiles`
enum LogFiles {
  static func segmentName(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 20 - digits.count)) + digits + ".mdb"
  }

  /// The number in a segment file's name, or its lock file's; nil for anything else.
  static func segmentNumber(_ name: String) -> UInt64? {
    let digits = name.prefix(20)
    let rest = name.dropFirst(20)
    guard digits.utf8.count == 20, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    guard rest == ".mdb" || rest == ".mdb-lock" else { return nil }
    return UInt64(digits)
  }

  static func makeDirectory(_ path: String) throws(EventLogError) {
    if unsafe mkdir(path, 0o755) == 0 {
      do { try FileSync.folder(of: path) } catch { throw EventLogError(error, "syncing a new directory failed") }
    } else if errno != EEXIST {
      throw EventLogError(systemError(errno, path), "creating a directory failed")
    } else if !isDirectory(path) {
      throw EventLogError(.storage, "this is a file, not a directory; choose another path", path: path)
    }
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The file's length in bytes, nil if there is none.
  static func size(_ path: String) -> Int? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// The names in a directory, sorted; empty if it cannot be read.
  static func names(in directory: String) -> [String] {
    guard let stream = unsafe opendir(directory) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: entry.pointee.d_name) {
        unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Removes a file and its lock file; a missing one is no error.
  static func removeSegment(_ path: String) throws(EventLogError) {
    for file in [path, path + "-lock"] { try removeFile(file) }
  }

  /// Removes a file; a missing one is no error.
  static func removeFile(_ path: String) throws(EventLogError) {
    if unsafe unlink(path) != 0 && errno != ENOENT {
      throw EventLogError(systemError(errno, path), "removing a file failed")
    }
  }

  /// Removes an empty directory; one that holds something else stays.
  static func removeDirectory(_ path: String) throws(EventLogError) {
    if unsafe rmdir(path) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST {
      throw EventLogError(systemError(errno, path), "removing a directory failed")
    }
  }

  static func syncDirectory(_ path: String) throws(EventLogError) {
    do { try FileSync.folder(path) } catch { throw EventLogError(error, "syncing a directory failed") }
  }

  /// Removes what the catalogue does not name: left by a crash while a segment was created or removed.
  ///
  /// Only files that have a segment's name, in directories that have a topic's.
  static func removeOrphans(in directory: String, keeping named: [String: Set<UInt64>]) throws(EventLogError) {
    for topic in names(in: directory) where isDirectory(directory + "/" + topic) {
      let folder = directory + "/" + topic
      let keep = named[topic] ?? []
      var isEmpty = true
      for name in names(in: folder) {
        let isGone = segmentNumber(name).map { !keep.contains($0) } ?? (name == JournalFile.name && named[topic] == nil)
        guard isGone else {
          isEmpty = false
          continue
        }
        if unsafe unlink(folder + "/" + name) != 0 && errno != ENOENT {
          throw EventLogError(systemError(errno, folder + "/" + name), "removing an orphaned file failed")
        }
      }
      if isEmpty && named[topic] == nil { unsafe rmdir(folder) }
    }
  }

  static func systemError(_ number: Int32, _ path: String) -> LMDBError {
    let code: LMDBError.Code
    switch number {
    case ENOSPC, EDQUOT, EFBIG: code = .diskFull
    case EACCES, EPERM: code = .permissionDenied
    case EROFS: code = .readOnlyFileSystem
    case ENOENT: code = .notFound
    case EMFILE, ENFILE: code = .tooManyOpenFiles
    default: code = .io
    }
    return LMDBError(code, path: path, operation: "system call", errorNumber: number)
  }
}
