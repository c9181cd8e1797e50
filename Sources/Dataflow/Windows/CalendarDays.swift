import Bytes

/// Days of a local calendar, numbered from 1970-01-01: each from the first moment whose local time is its midnight or
/// later, to that of the next. On the days when clocks are changed they have 23 or 25 hours.
struct CalendarDays {
  private let rule: any TimeZoneRule
  private static let day: Int64 = 86_400_000_000

  init(_ rule: any TimeZoneRule) { self.rule = rule }

  /// The start of day `number`, saturating.
  func start(of number: Int64) -> Int64 {
    let midnight = (Int128(number) * Int128(Self.day)).clamped
    if midnight == .min || midnight == .max { return midnight }
    // Local time is less than a day off. From there on, stretch by stretch of one offset: the first moment at midnight.
    var time = midnight.saturatingSubtract(Self.day)
    while true {
      let (offset, until) = rule.offset(at: Timestamp(microseconds: time))
      let candidate = max(time, midnight.saturatingSubtract(offset))
      // A rule that does not move on would never end.
      if candidate < until.microseconds || until == .max || until.microseconds <= time { return candidate }
      time = until.microseconds
    }
  }

  /// The day that holds `time`.
  func number(at time: Int64) -> Int64 {
    let (offset, _) = rule.offset(at: Timestamp(microseconds: time))
    var number = Wide.floor(Int128(time) + Int128(offset), Int128(Self.day)).clamped
    // Where clocks are set back over midnight local time says the day before though the day has begun.
    while start(of: number.saturatingAdd(1)) <= time && number < .max / Self.day { number += 1 }
    while start(of: number) > time && number > .min / Self.day { number -= 1 }
    return number
  }
}
