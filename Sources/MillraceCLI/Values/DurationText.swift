/// Times as people type them: "250us", "500ms", "90s", "15min", "12h", "7d".
enum DurationText {
  /// Names with microseconds, the largest first.
  private static let units: [(name: String, microseconds: Int64)] = [
    ("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1),
  ]

  /// Nil for what is none, is negative, or does not fit.
  static func parse(_ text: String) -> Duration? {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let rest = text.dropFirst(digits.count).drop { $0 == " " }
    // "m" is what many type for minutes.
    let name = rest == "m" ? "min" : String(rest)
    guard let number = Int64(digits), let unit = units.first(where: { $0.name == name }) else { return nil }
    let (microseconds, isTooLarge) = number.multipliedReportingOverflow(by: unit.microseconds)
    return isTooLarge ? nil : .microseconds(microseconds)
  }

  /// In the largest unit that keeps it whole: "7d", "90s", "1500ms".
  static func of(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let (scaled, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let microseconds = scaled &+ attoseconds / 1_000_000_000_000
    guard !isTooLarge, microseconds != 0,
      let unit = units.first(where: { microseconds % $0.microseconds == 0 })
    else { return isTooLarge ? "\(seconds)s" : "0s" }
    return "\(microseconds / unit.microseconds)\(unit.name)"
  }
}
