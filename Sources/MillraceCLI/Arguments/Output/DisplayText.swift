/// A text made harmless and measured for a terminal.
struct DisplayText {
  let text: String
  /// Columns of a terminal.
  let width: Int

  /// Control characters, which could move the cursor or more, are shown as escapes.
  init(_ raw: String) {
    if raw.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) {
      text = raw
      width = raw.utf8.count
      return
    }
    var shown = ""
    for scalar in raw.unicodeScalars {
      switch scalar {
      case "\n": shown += "\\n"
      case "\t": shown += "\\t"
      case "\r": shown += "\\r"
      case _ where scalar.properties.generalCategory == .control || scalar.properties.isBidiControl:
        shown += "\\u{\(String(scalar.value, radix: 16))}"
      default: shown.unicodeScalars.append(scalar)
      }
    }
    text = shown
    width = shown.reduce(0) { $0 + Self.width(of: $1) }
  }

  /// Filled with spaces, or cut, to exactly `target` columns.
  func padded(to target: Int, isRightAligned: Bool) -> String {
    if width > target {
      var kept = ""
      var used = 0
      for character in text {
        let next = Self.width(of: character)
        if used + next > target - 1 { break }
        kept.append(character)
        used += next
      }
      return kept + "…" + String(repeating: " ", count: max(0, target - used - 1))
    }
    let fill = String(repeating: " ", count: target - width)
    return isRightAligned ? fill + text : text + fill
  }

  /// Two for the wide characters of East Asia and emoji (the ranges of Unicode's EastAsianWidth), one for others, none
  /// for lone marks.
  private static func width(of character: Character) -> Int {
    guard let scalar = character.unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF,
      0x20000...0x3FFFD:
      return 2
    default:
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .format: return 0
      default: return 1
      }
    }
  }
}
