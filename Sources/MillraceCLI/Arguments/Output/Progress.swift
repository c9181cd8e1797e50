/// A line that says how far long work is, redrawn in place; only where a person watches.
struct Progress {
  /// Between two drawings, in milliseconds.
  private static let interval = 100

  private let title: String
  private let total: Int?
  private let isShown: Bool
  private let now: () -> Int
  private let write: (String) -> Void
  private let started: Int
  private var lastDrawn: Int?

  /// `isShown`: whether standard error is a terminal. `now`: monotonic milliseconds. `write`: to standard error.
  init(_ title: String, total: Int?, isShown: Bool, now: @escaping () -> Int, write: @escaping (String) -> Void) {
    self.title = title
    self.total = total
    self.isShown = isShown
    self.now = now
    self.write = write
    self.started = now()
  }

  /// `done` units of `total` are done. Cheap to call often.
  mutating func update(_ done: Int) {
    guard isShown else { return }
    let time = now()
    if let lastDrawn, time - lastDrawn < Self.interval { return }
    lastDrawn = time
    write("\r\u{1b}[K" + Self.line(title, done: done, total: total, milliseconds: time - started))
  }

  /// Takes the line away.
  mutating func finish() {
    if isShown, lastDrawn != nil { write("\r\u{1b}[K") }
    lastDrawn = nil
  }

  /// "title  1,234 of 5,000 (24 %), 3.0 s left", as far as it is known.
  static func line(_ title: String, done: Int, total: Int?, milliseconds: Int) -> String {
    guard let total, total > 0 else { return "\(title)  \(HumanText.count(done))" }
    let share = min(1, max(0, Double(done) / Double(total)))
    var text = "\(title)  \(HumanText.count(done)) of \(HumanText.count(total)) (\(Int(share * 100)) %)"
    if share > 0, share < 1, milliseconds >= 1000 {
      let left = Double(milliseconds) * (1 - share) / share
      text += ", \(HumanText.duration(milliseconds: Int(min(left, 1e15)))) left"
    }
    return text
  }
}
