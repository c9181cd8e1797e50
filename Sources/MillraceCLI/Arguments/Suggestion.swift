/// "Did you mean" for a mistyped name.
enum Suggestion {
  /// " (did you mean NAME?)" for the closest of `names`, or nothing if none is near.
  static func text(for typed: String, among names: [String]) -> String {
    closest(to: typed, among: names).map { " (did you mean '\($0)'?)" } ?? ""
  }

  /// The first of `names` with the fewest edits from `typed`: at most a third of its length, and one for short names.
  /// A name that begins with what was typed counts as one edit.
  static func closest(to typed: String, among names: [String]) -> String? {
    if typed.isEmpty { return nil }
    var best: (name: String, edits: Int)?
    for name in names {
      let isBeginning = typed.count >= 2 && name.hasPrefix(typed)
      let edits = isBeginning ? 1 : distance(Array(typed.lowercased()), Array(name.lowercased()))
      if edits <= max(1, name.count / 3), edits < best?.edits ?? .max { best = (name, edits) }
    }
    return best?.name
  }

  /// Insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal string
  /// alignment).
  static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, character) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var edits = min(last[column] + (character == other ? 0 : 1), last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, character == right[column - 1], left[row - 1] == other {
          edits = min(edits, beforeLast[column - 1] + 1)
        }
        current.append(edits)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
