public import Bytes

/// A stretch of time: from `start` on, before `end`.
@frozen
public struct Window: Hashable, Sendable {
  public var start: Timestamp
  /// Exclusive.
  public var end: Timestamp

  @inlinable
  public init(start: Timestamp, end: Timestamp) {
    self.start = start
    self.end = end
  }
}

/// A window at the moment of its firing.
@frozen
public struct WindowFiring: Hashable, Sendable {
  /// Why a window fires.
  public enum Kind: Hashable, Sendable {
    /// Its trigger wanted to, before its end.
    case early
    /// Time reached its end. Once per window; a session that grows after it may see it again.
    case onTime
    /// A record came after its end, within the allowed lateness: an update.
    case late
  }

  public var window: Window
  public var kind: Kind

  @inlinable
  public init(_ window: Window, _ kind: Kind) {
    self.window = window
    self.kind = kind
  }

  @inlinable public var start: Timestamp { window.start }
  /// Exclusive.
  @inlinable public var end: Timestamp { window.end }
}
