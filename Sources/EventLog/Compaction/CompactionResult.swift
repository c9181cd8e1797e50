/// What a compaction did.
public struct CompactionResult: Sendable, Hashable {
  /// Of the sealed segments that it looked at, before and after.
  public var recordsBefore: Int64 = 0
  public var recordsAfter: Int64 = 0
  public var bytesBefore = 0
  public var bytesAfter = 0
  public var segmentsBefore = 0
  public var segmentsAfter = 0
  /// How many of the removed records were tombstones past their delay.
  public var tombstonesRemoved: Int64 = 0
  /// How often it went over the log: more than once if the keys did not fit into `LogOptions.compactionBytes`.
  public var passes = 0

  public var recordsRemoved: Int64 { recordsBefore - recordsAfter }
}

/// How far a compaction has come.
public struct CompactionProgress: Sendable, Hashable {
  /// Bytes of batches read or written so far, and about how many it will have been in all. The latter may grow.
  public var bytesDone: Int
  public var bytesInAll: Int
}

/// The moments at which a compaction could be cut off by a crash.
package enum CompactionStep: Sendable, CaseIterable {
  case began
  /// All keys are known that will be in this pass.
  case keysCollected
  case fileCreated
  case batchesWritten
  /// The replacement is whole and synced.
  case fileWritten
  /// Its directory entry, too.
  case directorySynced
  /// The catalogue names it, and no longer what it replaces.
  case swapped
  case oldFilesRemoved
}
