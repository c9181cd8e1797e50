package import Millrace

/// A day of the calendar in UTC.
package struct Day: Hashable, Comparable, Sendable {
  /// Days since 1970-01-01.
  package var number: Int

  package init(number: Int) { self.number = number }

  /// The day in `text`, written as 2017-05-31, or nil if that is no date of the Gregorian calendar.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].utf8.count == 4, parts[1].utf8.count == 2, parts[2].utf8.count == 2,
      parts.allSatisfy({ $0.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } }),
      let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
    else { return nil }
    self.init(year: year, month: month, day: day)
    guard civil == (year, month, day) else { return nil }
  }

  /// Counts in years that begin with March, so that the leap day comes last (Howard Hinnant, "chrono-compatible
  /// low-level date algorithms").
  package init(year: Int, month: Int, day: Int) {
    let year = month <= 2 ? year - 1 : year
    let era = floorDivide(year, 400)
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    number = era * 146_097 + dayOfEra - 719_468
  }

  /// The day that holds `time`.
  package init(holding time: Timestamp) {
    number = floorDivide(Int(time.microseconds), Day.microseconds)
  }

  /// The first instant of the day.
  package var start: Timestamp { Timestamp(microseconds: Int64(number) * Int64(Day.microseconds)) }

  package var next: Day { Day(number: number + 1) }

  package static func < (left: Day, right: Day) -> Bool { left.number < right.number }

  private var civil: (year: Int, month: Int, day: Int) {
    let shifted = number + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    )
  }

  private static let microseconds = 86_400_000_000
}

extension Day: CustomStringConvertible {
  package var description: String {
    let (year, month, day) = civil
    return "\(String(year).padded(to: 4))-\(String(month).padded(to: 2))-\(String(day).padded(to: 2))"
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { String(repeating: "0", count: max(0, width - utf8.count)) + self }
}

private func floorDivide(_ number: Int, _ divisor: Int) -> Int {
  number >= 0 ? number / divisor : -((-(number + 1)) / divisor) - 1
}
