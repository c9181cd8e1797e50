public import Bytes

/// How far event time has come on one channel: no more records with a timestamp at or before `time` are expected.
@frozen
public struct Watermark: Hashable, Sendable {
  /// The promise; `Timestamp.min` promises nothing, `Timestamp.max` that nothing more comes.
  public var time: Timestamp
  /// Whether the channel is silent and must not hold others back.
  public var isIdle: Bool

  @inlinable
  public init(_ time: Timestamp, isIdle: Bool = false) {
    self.time = time
    self.isIdle = isIdle
  }

  /// What a channel says before anything is known.
  public static let unknown = Watermark(.min)
}
