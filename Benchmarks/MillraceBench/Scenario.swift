/// One benchmark: a name, what it does, and the work at a given size.
struct Scenario: Sendable {
  var name: String
  /// One line for `list`.
  var summary: String
  /// Units of work when no `--size` is given.
  var defaultSize: Int
  var run: @Sendable (Options) async throws -> Measurement

  /// What the command line asked of a scenario.
  struct Options: Sendable {
    var size: Int
    /// Free settings given as `--set name=value`.
    var settings: [String: String]
    /// A folder for this run alone, removed at its end.
    var folder: String

    func integer(_ name: String, _ fallback: Int) -> Int { settings[name].flatMap(Int.init) ?? fallback }
  }
}

/// A fast, seeded generator for benchmark input (SplitMix64, Steele, Lea and Flood 2014).
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return SplitMix64.mix(state)
  }

  static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
