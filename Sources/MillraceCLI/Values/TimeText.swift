import Millrace

/// Times as ISO 8601 in UTC: "2026-12-01T00:03:00Z", with as many digits of a second as it has (3 or 6).
enum TimeText {
  private static let day: Int64 = 86_400_000_000

  /// Outside of the years 0 to 9999, the microseconds since 1970.
  static func of(_ time: Timestamp) -> String {
    var days = time.microseconds / day
    var rest = time.microseconds % day
    if rest < 0 {
      days -= 1
      rest += day
    }
    let (year, month, date) = civil(days)
    guard (0...9999).contains(year) else { return String(time.microseconds) }
    let seconds = rest / 1_000_000
    let fraction = rest % 1_000_000
    var text: [UInt8] = []
    text.reserveCapacity(27)
    func append(_ number: Int64, _ width: Int, _ mark: Unicode.Scalar) {
      text.append(UInt8(ascii: mark))
      let end = text.count + width
      text.append(contentsOf: repeatElement(0, count: width))
      var rest = number
      for index in (end - width..<end).reversed() {
        text[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
    }
    append(year, 4, "-")
    text.removeFirst()
    append(month, 2, "-")
    append(date, 2, "-")
    append(seconds / 3600, 2, "T")
    append(seconds / 60 % 60, 2, ":")
    append(seconds % 60, 2, ":")
    if fraction % 1000 != 0 {
      append(fraction, 6, ".")
    } else if fraction != 0 {
      append(fraction / 1000, 3, ".")
    }
    text.append(UInt8(ascii: "Z"))
    return String(decoding: text, as: UTF8.self)
  }

  /// The time that `text` means: a day, a day with a time (behind T or a space, seconds and fraction optional, Z
  /// optional), or microseconds since 1970. Nil if it means none.
  static func parse(_ text: String) -> Timestamp? {
    if let microseconds = Int64(text) { return Timestamp(microseconds: microseconds) }
    let halves = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "T" || $0 == "t" || $0 == " " }
    let date = halves[0].split(separator: "-", omittingEmptySubsequences: false).map { number($0) }
    guard date.count == 3, let year = date[0], let month = date[1], let day = date[2], halves[0].count == 10,
      (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    let days = self.days(year, month, day)
    guard civil(days) == (year, month, day) else { return nil }
    var microseconds: Int64 = 0
    if halves.count == 2 {
      guard let time = timeOfDay(halves[1]) else { return nil }
      microseconds = time
    }
    return Timestamp(microseconds: days * Self.day + microseconds)
  }

  private static func timeOfDay(_ text: Substring) -> Int64? {
    let isUTC = text.last == "Z" || text.last == "z"
    let parts = (isUTC ? text.dropLast() : text).split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3, let hours = number(parts[0]), let minutes = number(parts[1]),
      parts[0].count == 2, parts[1].count == 2, hours < 24, minutes < 60
    else { return nil }
    var microseconds = (hours * 60 + minutes) * 60_000_000
    if parts.count == 3 {
      let halves = parts[2].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
      guard let seconds = number(halves[0]), halves[0].count == 2, seconds < 60 else { return nil }
      microseconds += seconds * 1_000_000
      if halves.count == 2 {
        let digits = halves[1]
        guard (1...6).contains(digits.count), let fraction = number(digits) else { return nil }
        microseconds += (0..<(6 - digits.count)).reduce(fraction) { scaled, _ in scaled * 10 }
      }
    }
    return microseconds
  }

  /// Digits only.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
  }

  // The proleptic Gregorian calendar, counted from March of year 0 in eras of 400 years (the algorithm of H. Hinnant,
  // "chrono-Compatible Low-Level Date Algorithms").

  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let part = (5 * dayOfYear + 2) / 153
    let month = part < 10 ? part + 3 : part - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
  }
}
