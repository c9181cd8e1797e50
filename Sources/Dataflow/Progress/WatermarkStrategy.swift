import Bytes

/// How a source derives watermarks from the timestamps of its records, partition by partition.
public struct WatermarkStrategy: Sendable, Hashable {
  /// How far, in microseconds, a record may lie behind the latest one of its partition and still be on time; nil: the
  /// source has no event time and its watermark stays at the beginning until it ends.
  public let outOfOrderness: Int64?
  /// After how long without a record a partition stops holding others back, in microseconds; nil: never.
  public let idleness: Int64?

  /// Records lie at most `outOfOrderness` behind the latest of their partition; a partition without a record for
  /// `idleness` is left out of the minimum.
  public static func boundedOutOfOrderness(_ outOfOrderness: Duration = .zero, idleness: Duration? = nil) -> Self {
    WatermarkStrategy(
      outOfOrderness: max(0, outOfOrderness.wholeMicroseconds), idleness: idleness.map { max(0, $0.wholeMicroseconds) })
  }

  /// No event time: nothing that waits for a watermark fires before the source ends.
  public static let none = WatermarkStrategy(outOfOrderness: nil, idleness: nil)

  /// The watermark once `latest` is the greatest timestamp seen: equal timestamps may still come.
  func watermark(after latest: Timestamp) -> Timestamp {
    guard let outOfOrderness else { return .min }
    return latest.advanced(byMicroseconds: -outOfOrderness).advanced(byMicroseconds: -1)
  }
}
