import Bytes

/// How a source derives watermarks, partition by partition: from its records' timestamps, or from the clock.
///
/// For watermarks that depend on the records themselves see `Watermarks`.
public struct WatermarkStrategy: Sendable, Hashable {
  enum Characteristic: Sendable, Hashable {
    /// From the records' timestamps.
    case eventTime
    /// Records get the time at which they were read; time goes on without records every so many microseconds.
    case ingestionTime(tick: Int64)
    /// There is none.
    case processingTime
  }

  let characteristic: Characteristic
  /// How far, in microseconds, a record may lie behind the latest one of its partition and still be on time; nil: the
  /// watermark does not follow from timestamps.
  public let outOfOrderness: Int64?
  /// After how long without a record a partition stops holding others back, in microseconds; nil: never.
  public let idleness: Int64?
  /// How far the source's partitions may run ahead of others; nil: as far as they can.
  public private(set) var alignment: WatermarkAlignment?

  /// Records lie at most `outOfOrderness` behind the latest of their partition; a partition without a record for
  /// `idleness` is left out of the minimum.
  public static func boundedOutOfOrderness(_ outOfOrderness: Duration = .zero, idleness: Duration? = nil) -> Self {
    WatermarkStrategy(
      characteristic: .eventTime, outOfOrderness: max(0, outOfOrderness.wholeMicroseconds),
      idleness: idleness.map { max(0, $0.wholeMicroseconds) })
  }

  /// Timestamps of a partition never fall; equal ones may follow each other.
  public static func monotonic(idleness: Duration? = nil) -> Self { boundedOutOfOrderness(.zero, idleness: idleness) }

  /// Every record gets the time of day at which it was read, and the watermark follows the clock: also, every `tick`,
  /// where no record comes, so that no silent partition holds others back. Nothing is late.
  ///
  /// Records read again after a crash get new times.
  public static func ingestionTime(tick: Duration = .milliseconds(200)) -> Self {
    WatermarkStrategy(
      characteristic: .ingestionTime(tick: max(1000, tick.wholeMicroseconds)), outOfOrderness: nil, idleness: nil)
  }

  /// No event time: for jobs whose windows and timers go by the clock of the machine. What waits for a watermark waits
  /// until the source ends.
  public static let processingTime = WatermarkStrategy(
    characteristic: .processingTime, outOfOrderness: nil, idleness: nil)

  /// No event time: nothing that waits for a watermark fires before the source ends.
  public static let none = processingTime

  /// Watermarks that a generator makes, not a strategy.
  static func generated(idleness: Duration?) -> Self {
    WatermarkStrategy(
      characteristic: .eventTime, outOfOrderness: nil, idleness: idleness.map { max(0, $0.wholeMicroseconds) })
  }

  /// The same, where no partition runs further than `maximumDrift` of event time ahead of the slowest partition of all
  /// sources of the job that are aligned under the name `group`: it is not read meanwhile.
  ///
  /// Exceeded by one poll's records at most. Idle partitions, partitions at their end, and such without any record so
  /// far do not count. A silent partition without `idleness` stops the others for good.
  public func aligned(_ group: String, maximumDrift: Duration) -> Self {
    var result = self
    result.alignment = WatermarkAlignment(group: group, maximumDrift: max(0, maximumDrift.wholeMicroseconds))
    return result
  }

  /// The watermark once `latest` is the greatest timestamp seen: equal timestamps may still come.
  func watermark(after latest: Timestamp) -> Timestamp {
    if case .ingestionTime = characteristic { return latest.advanced(byMicroseconds: -1) }
    guard let outOfOrderness else { return .min }
    return latest.advanced(byMicroseconds: -outOfOrderness).advanced(byMicroseconds: -1)
  }

  /// How often the watermark follows the clock without a record, in microseconds; nil: never.
  var clockTick: Int64? { if case .ingestionTime(let tick) = characteristic { tick } else { nil } }
}

/// A group of sources that stay close to each other in event time.
public struct WatermarkAlignment: Sendable, Hashable {
  /// The group's name within the job.
  public let group: String
  /// Microseconds of event time.
  public let maximumDrift: Int64
}
