/// Numbers as people read them.
enum HumanText {
  /// Bytes in powers of 1,024: "0 B", "1023 B", "1.5 KiB", "12 MiB". One decimal below ten.
  static func size(_ bytes: Int) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    let sign = bytes < 0 ? "-" : ""
    var value = Double(bytes.magnitude)
    if value < 1024 { return "\(bytes) B" }
    var unit = 0
    // What would round up to 1024 is one of the next unit.
    while value >= 1023.5, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    if value < 9.95 {
      let tenths = Int((value * 10).rounded())
      return "\(sign)\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
    return "\(sign)\(Int(value.rounded())) \(units[unit])"
  }

  /// With commas between thousands: "-1,234,567".
  static func count(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// "1 record", "1,234 records".
  static func counted(_ number: Int, _ what: String) -> String { "\(count(number)) \(what)\(number == 1 ? "" : "s")" }

  /// "0 ms", "840 ms", "5.2 s", "3 min 20 s", "2 h 5 min", "9 d 3 h".
  static func duration(milliseconds: Int) -> String {
    if milliseconds < 0 {
      return milliseconds == .min ? "-" + duration(milliseconds: .max) : "-" + duration(milliseconds: -milliseconds)
    }
    if milliseconds < 1000 { return "\(milliseconds) ms" }
    let seconds = milliseconds / 1000
    if seconds < 60 { return "\(seconds).\(milliseconds % 1000 / 100) s" }
    if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
    if seconds < 86_400 { return "\(seconds / 3600) h \(seconds % 3600 / 60) min" }
    return "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
  }
}
