/// A point in time: microseconds since 1970-01-01T00:00:00Z, as every time in a store.
///
/// Additions and subtractions saturate at `Timestamp.min` and `Timestamp.max`; they never trap or wrap.
@frozen
public struct Timestamp: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Microseconds since 1970, negative before it.
  public var microseconds: Int64

  @inlinable
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// From milliseconds since 1970; saturates.
  @inlinable
  public init(milliseconds: Int64) {
    let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
    self.microseconds = overflow ? (milliseconds < 0 ? .min : .max) : product
  }

  /// The earliest time; as a watermark: nothing is known yet.
  public static let min = Timestamp(microseconds: .min)
  /// The latest time; as a watermark: nothing more will come.
  public static let max = Timestamp(microseconds: .max)

  @inlinable
  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

  /// `self` moved by `microseconds`, saturating.
  @inlinable
  public func advanced(byMicroseconds microseconds: Int64) -> Timestamp {
    Timestamp(microseconds: self.microseconds.saturatingAdd(microseconds))
  }

  @inlinable
  public static func + (time: Timestamp, duration: Duration) -> Timestamp {
    time.advanced(byMicroseconds: duration.wholeMicroseconds)
  }

  @inlinable
  public static func - (time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(microseconds: time.microseconds.saturatingSubtract(duration.wholeMicroseconds))
  }

  /// Microseconds from `earlier` to `self`, saturating.
  @inlinable
  public func microseconds(since earlier: Timestamp) -> Int64 {
    microseconds.saturatingSubtract(earlier.microseconds)
  }
}

extension Timestamp: Codable {
  public init(from decoder: any Decoder) throws {
    microseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(microseconds)
  }
}

extension Int64 {
  /// The sum, held at `Int64.min` or `Int64.max` where it would overflow.
  @inlinable
  public func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, held at `Int64.min` or `Int64.max` where it would overflow.
  @inlinable
  public func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}

extension Duration {
  /// The duration in whole microseconds (rounded towards zero), saturating.
  @inlinable
  public var wholeMicroseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    return product.saturatingAdd(attoseconds / 1_000_000_000_000)
  }
}
