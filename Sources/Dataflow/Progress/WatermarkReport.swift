public import Bytes

/// How far event time has come in one partition of a source.
public struct PartitionStanding: Sendable, Hashable {
  public var source: String
  public var partition: Int
  /// `Timestamp.min`: nothing is known yet.
  public var watermark: Timestamp
  /// Whether it had no record for so long that it holds nobody back.
  public var isIdle: Bool
  /// Whether it was read to its end, in a bounded run.
  public var isEnded: Bool
  /// Whether it is not being read because it is too far ahead of its alignment group.
  public var isPaused: Bool
  /// The time of day at which its watermark moved last, or the run began.
  public var unmovedSince: Timestamp
  /// How long that is ago.
  public var unmovedFor: Duration
  /// The greatest timestamp among the records read in this run; nil: there was none.
  public var latestRecord: Timestamp?
  /// Whether the job's event time is where it is because of this partition.
  public var holdsBack: Bool
}

/// Explains where a job's event time stands: which partition holds it back, since when, at what time.
public struct WatermarkReport: Sendable, Hashable, CustomStringConvertible {
  /// The least watermark of the partitions that count, which is what reaches the job's operators.
  public var watermark: Timestamp
  /// By source in the order of the flow, then by partition.
  public var partitions: [PartitionStanding]

  /// The partitions that hold the job back.
  public var culprits: [PartitionStanding] { partitions.filter(\.holdsBack) }

  /// - Parameter endIsFinal: whether a partition at its end holds nobody back.
  init(_ standings: [PartitionStanding], endIsFinal: Bool) {
    partitions = standings
    let counts = { (standing: PartitionStanding) in !standing.isIdle && !(standing.isEnded && endIsFinal) }
    let counted = standings.filter(counts)
    // As the merge has it: with nobody active the greatest time holds.
    watermark = counted.map(\.watermark).min() ?? standings.map(\.watermark).max() ?? .min
    for index in partitions.indices where counts(partitions[index]) {
      partitions[index].holdsBack = partitions[index].watermark == watermark
    }
  }

  /// One line for a person for each partition that holds the job back.
  public var description: String {
    guard let first = culprits.first else {
      return "event time is at \(watermark.microseconds); no partition holds it back: all are idle or at their end"
    }
    let lines = culprits.map { standing in
      let seconds = standing.unmovedFor.wholeMicroseconds / 1_000_000
      let latest = standing.latestRecord.map { "its latest record is of \($0.microseconds)" } ?? "it had no record yet"
      let pause = standing.isPaused ? ", paused by its alignment group" : ""
      return "partition \(standing.partition) of \(standing.source): unmoved for \(seconds) s, \(latest)\(pause)"
    }
    let time = first.watermark == .min ? "unknown" : "\(first.watermark.microseconds)"
    return "event time is \(time) because of\n" + lines.joined(separator: "\n")
  }
}
