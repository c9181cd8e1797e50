/// Sizes as people type them: "1048576", "256MiB", "256M", "1.5 GiB"; units are powers of 1,024.
enum SizeText {
  private static let units = ["", "k", "m", "g", "t", "p"]

  /// Bytes; nil for what is none, is negative, or does not fit.
  static func parse(_ text: String) -> Int? {
    let digits = text.prefix { ("0"..."9").contains($0) || $0 == "." }
    var unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
    if unit.hasSuffix("ib") { unit.removeLast(2) } else if unit.hasSuffix("b") { unit.removeLast() }
    guard let power = units.firstIndex(of: unit), !digits.isEmpty else { return nil }
    let scale = 1 << (10 * power)
    if let whole = Int(digits) {
      let (bytes, isTooLarge) = whole.multipliedReportingOverflow(by: scale)
      return isTooLarge ? nil : bytes
    }
    guard power > 0, let number = Double(digits), number * Double(scale) < 0x1p62 else { return nil }
    return Int(number * Double(scale))
  }
}
