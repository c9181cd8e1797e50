public import Bytes
public import Foundation

/// How local time follows from the time of the world, for windows of calendar days.
public protocol TimeZoneRule: Sendable {
  /// How many microseconds local time is ahead (east is positive, less than 24 hours either way) at `time`, and the
  /// first moment at which that may be different, above `time`; `Timestamp.max`: never.
  func offset(at time: Timestamp) -> (microseconds: Int64, until: Timestamp)
}

/// Local time by a table: an offset at first, and others from given moments on.
public struct TimeZoneTable: TimeZoneRule, Hashable {
  private let first: Int64
  private let changes: [Change]

  private struct Change: Hashable {
    let time: Timestamp
    let offset: Int64
  }

  /// - Parameters:
  ///   - offset: what local time is ahead by before the first change.
  ///   - changes: moments and the offset from each on, in any order.
  public init(offset: Duration, changes: [(at: Timestamp, offset: Duration)] = []) {
    first = offset.wholeMicroseconds
    self.changes = changes.map { Change(time: $0.at, offset: $0.offset.wholeMicroseconds) }
      .sorted { $0.time < $1.time }
  }

  /// The rules of `zone` between two moments; before and after them the nearest offset holds.
  public init(_ zone: TimeZone, from start: Timestamp, to end: Timestamp) {
    var changes: [(at: Timestamp, offset: Duration)] = []
    var time = start
    while time < end {
      let (_, until) = zone.offset(at: time)
      guard until < end else { break }
      changes.append((until, .microseconds(zone.offset(at: until).microseconds)))
      time = until
    }
    self.init(offset: .microseconds(zone.offset(at: start).microseconds), changes: changes)
  }

  public func offset(at time: Timestamp) -> (microseconds: Int64, until: Timestamp) {
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    return (low == 0 ? first : changes[low - 1].offset, low < changes.count ? changes[low].time : .max)
  }
}

extension TimeZone: TimeZoneRule {
  /// By the time zone data of the system. About a microsecond; windows ask a few times per day and batch.
  public func offset(at time: Timestamp) -> (microseconds: Int64, until: Timestamp) {
    // Beyond these years calendars mean nothing.
    let bound: Int64 = 100_000_000_000
    let seconds = min(max(time.microseconds / 1_000_000, -bound), bound)
    let date = Date(timeIntervalSince1970: Double(seconds))
    let offset = Int64(secondsFromGMT(for: date)) * 1_000_000
    guard let next = nextDaylightSavingTimeTransition(after: date) else { return (offset, .max) }
    let until = Int64(next.timeIntervalSince1970.rounded()) * 1_000_000
    return (offset, until > time.microseconds ? Timestamp(microseconds: until) : .max)
  }
}
