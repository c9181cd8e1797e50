import Dataflow
import EventLog
import Glibc
import LMDB

/// What a backup holds.
public struct BackupReport: Codable, Hashable, Sendable {
  /// Where it is.
  public var target: String
  /// The last checkpoint in it.
  public var checkpoint: UInt64
  public var stateBytes: Int
  public var logBytes: Int
}

/// How far a backup is.
public struct BackupProgress: Hashable, Sendable {
  /// Bytes copied, and bytes in all as far as they were known at the beginning.
  public var bytes: Int
  public var totalBytes: Int
}

extension Store {
  /// Copies the store, while it is in use, into the new folder `target`: a store in which jobs go on at their last
  /// checkpoint. Durable when it returns.
  ///
  /// The state file is copied first, then the log with retention held, so no position is beyond the copy's log. The
  /// FORMAT file comes last: a copy that was cut short is no store. Blocks the calling thread for the disk.
  ///
  /// Beside a writer in another process, whose retention cannot be held, the copy is begun anew when a segment goes
  /// away underneath, three times.
  ///
  /// - Throws: `StoreError.alreadyExists` if there is something at `target`; errors of the disk. What was copied is
  ///   removed again then.
  @discardableResult
  public func backup(to target: String, progress: (BackupProgress) -> Void = { _ in }) throws -> BackupReport {
    try makeBackupFolder(target)
    do {
      var attempts = 3
      while true {
        do {
          return try log.holdingRetention { try copy(to: target, progress) }
        } catch let error as EventLogError where error.code == .missingSegment && attempts > 1 {
          attempts -= 1
          try Folders.removeContents(of: target)
        }
      }
    } catch {
      try? Folders.removeContents(of: target)
      unsafe rmdir(target)
      throw error
    }
  }

  private func makeBackupFolder(_ target: String) throws {
    if unsafe mkdir(target, 0o755) == 0 { return }
    if errno == EEXIST {
      throw StoreError(
        .alreadyExists, path: target, detail: "a backup makes its folder itself; choose a path that does not exist")
    }
    throw StoreFormat.systemError(target, "create the folder")
  }

  private func copy(to target: String, _ progress: (BackupProgress) -> Void) throws -> BackupReport {
    let state = target + "/" + Store.stateFile
    let logBytes = try log.describe().reduce(0) { $0 + $1.bytes }
    let total = environment.usage.bytesUsed + logBytes
    progress(BackupProgress(bytes: 0, totalBytes: total))
    try environment.backup(to: state)
    let stateBytes = Folders.size(of: state)
    progress(BackupProgress(bytes: stateBytes, totalBytes: total))
    try log.backup(to: target + "/" + Store.logFolder) { done, ofAll in
      // The log counts its segments' contents, the live one's not: shares of its own sum are right enough.
      let share = ofAll > 0 ? Double(done) / Double(ofAll) : 1
      progress(BackupProgress(bytes: stateBytes + Int(share * Double(logBytes)), totalBytes: total))
    }
    try StoreFormat.copy(from: path, to: target)
    do { try FileSync.folder(of: target) } catch { throw StoreError(.io, path: target, detail: "sync", cause: error) }
    progress(BackupProgress(bytes: total, totalBytes: total))
    return BackupReport(
      target: target, checkpoint: try Self.checkpoint(ofCopy: state), stateBytes: stateBytes,
      logBytes: Folders.size(of: target + "/" + Store.logFolder))
  }

  /// The number of the last checkpoint in a copied state file; reading it also shows that the copy opens.
  private static func checkpoint(ofCopy file: String) throws -> UInt64 {
    let copy = try Environment.open(
      at: file, Environment.Options(databases: JobCatalogue.databases, access: .sealed))
    let catalogue = try JobCatalogue(copy)
    return try copy.read { try catalogue.lastCheckpoint(in: $0) }
  }
}
