/// That a topic keeps the latest record of each key only, and how eagerly older ones are removed.
///
/// Of the records with one key in one partition, compaction removes all but the one with the highest offset. Those that
/// stay keep their offsets, their order and their bytes. A record with a key and an empty value is a *tombstone*: it
/// says that the key has no value any more, and goes itself some time later. Records without a key stay for ever, or
/// until retention removes them. Only sealed segments are compacted, so the latest appends are always all there.
public struct Compaction: Hashable, Sendable {
  /// How long a tombstone stays after the first compaction that met it. A consumer that gets through the log faster
  /// than this sees every deletion.
  public var tombstoneDelay: Duration
  /// Segments whose last record was appended less than this ago are left alone, and all behind them.
  public var minimumAge: Duration
  /// `maintain` compacts when segments never compacted are at least this part of the sealed bytes, from 0 to 1.
  public var dirtyRatio: Double

  public init(tombstoneDelay: Duration = .seconds(86_400), minimumAge: Duration = .zero, dirtyRatio: Double = 0.5) {
    self.tombstoneDelay = tombstoneDelay
    self.minimumAge = minimumAge
    self.dirtyRatio = dirtyRatio
  }
}
