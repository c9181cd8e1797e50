import Glibc

/// SplitMix64: the same numbers for the same seed. Tests print the seed they drew.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A seed for one test run: `MILLRACE_SEED` if set, else drawn and printed with `name`.
  public static func seed(for name: String) -> UInt64 {
    let seed =
      getenv("MILLRACE_SEED").map { String(cString: $0) }.flatMap(UInt64.init) ?? UInt64.random(in: 0..<1_000_000)
    print("\(name): seed \(seed) (set MILLRACE_SEED to repeat)")
    return seed
  }
}
