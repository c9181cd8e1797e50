import Bytes
import Glibc
import LMDB

/// The FORMAT file: a store says what it is before anything else of it is read.
///
/// Text, one `name value` per line: the version of the format, and the number of key groups, fixed at creation.
enum StoreFormat {
  /// What this library writes, and the newest that it reads.
  static let version = 1
  static let fileName = "FORMAT"

  /// Finds the store at `folder`, or makes one there, and claims it for a writer; a reader claims nothing.
  static func claim(_ folder: String, isWriter: Bool) throws -> StoreLock? {
    let isThere = try check(folder)
    guard isWriter else {
      if !isThere { throw StoreError(.notFound, path: folder, detail: "there is no store; check the path") }
      return nil
    }
    if !isThere { try prepare(folder) }
    let lock = try StoreLock(folder: folder)
    // Two that create it at once: the second finds it made when it has the lock, which it does not get in time.
    if try check(folder) { try checkWhole(folder) } else { try write(folder + "/" + fileName) }
    return lock
  }

  /// Whether a store is at `folder` that this library can read.
  private static func check(_ folder: String) throws -> Bool {
    let file = folder + "/" + fileName
    guard let text = try read(file) else { return false }
    try check(text, file)
    return true
  }

  /// Makes the folder; refuses one that holds other things.
  private static func prepare(_ folder: String) throws {
    if unsafe mkdir(folder, 0o755) == 0 {
      do { try FileSync.folder(of: folder) } catch { throw systemError(folder, "sync the folder above") }
    } else if errno != EEXIST {
      throw systemError(folder, "create the folder")
    }
    let own = [StoreLock.fileName, fileName, fileName + ".new"]
    let others = try entries(of: folder).filter { !own.contains($0) }
    // What is there may be a store that another process made since we looked.
    guard try others.isEmpty || check(folder) else {
      throw StoreError(
        .notAStore, path: folder,
        detail: "the folder is not empty and holds no store (found \(others.sorted()[0])); choose another path")
    }
  }

  /// The state file is made before the log: a log without it means that it was lost, and jobs would begin anew.
  private static func checkWhole(_ folder: String) throws {
    let state = folder + "/" + Store.stateFile
    let log = folder + "/" + Store.logFolder
    guard unsafe access(state, F_OK) != 0, errno == ENOENT, unsafe access(log, F_OK) == 0 else { return }
    throw StoreError(
      .missingFile, path: state,
      detail: "the store has a log but no state file; put it back or restore a backup. To give up all state and views "
        + "and compute them from the log again, copy the log folder into a new store")
  }

  private static func check(_ text: String, _ file: String) throws {
    var values: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, let value = Int(words[1]) { values[String(words[0])] = value }
    }
    guard let found = values["format"], found > 0, let groups = values["key-groups"] else {
      throw StoreError(
        .damagedFormat, path: file,
        detail: "expected the lines `format N` and `key-groups N`; restore the file from a backup")
    }
    if found > version {
      throw StoreError(
        .newerFormat, path: file,
        detail: "the store has format \(found), this library reads up to \(version); use a newer library")
    }
    guard groups == KeyHash.keyGroups else {
      throw StoreError(
        .damagedFormat, path: file, detail: "key-groups is \(groups), this library has \(KeyHash.keyGroups)")
    }
  }

  /// The file's text, nil if there is no file.
  private static func read(_ file: String) throws -> String? {
    let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw systemError(file, "read")
    }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
    if count < 0 { throw systemError(file, "read") }
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }

  /// Writes the file beside its place, syncs it and moves it there: a crash leaves none or the whole.
  private static func write(_ file: String) throws {
    let text = "format \(version)\nkey-groups \(KeyHash.keyGroups)\n"
    let draft = file + ".new"
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw systemError(draft, "create") }
    let bytes = Array(text.utf8)
    let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    let isSynced = fsync(descriptor) == 0
    close(descriptor)
    guard written == bytes.count, isSynced, unsafe rename(draft, file) == 0 else { throw systemError(draft, "write") }
    do { try FileSync.folder(of: file) } catch { throw StoreError(.io, path: file, detail: "sync", cause: error) }
  }

  private static func entries(of folder: String) throws -> [String] {
    guard let directory = unsafe opendir(folder) else { throw systemError(folder, "list") }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// The typed error of the last failed system call.
  static func systemError(_ path: String, _ operation: String) -> StoreError {
    let number = errno
    let message = unsafe String(cString: strerror(number))
    switch number {
    case EACCES, EPERM, EROFS:
      return StoreError(
        .permissionDenied, path: path,
        detail: "cannot \(operation): \(message); give this user read and write access to the store's folder")
    case ENOTDIR:
      return StoreError(
        .notAStore, path: path, detail: "cannot \(operation): \(message); the path of a store is a folder")
    case ENOENT:
      return StoreError(.notFound, path: path, detail: "cannot \(operation): \(message); the folder above must exist")
    default:
      return StoreError(.io, path: path, detail: "cannot \(operation): \(message)")
    }
  }
}
