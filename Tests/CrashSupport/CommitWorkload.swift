/// A run of small transactions whose contents follow from a seed alone: a child commits them, the test that killed it
/// knows what must be there. Overwrites, deletes, and values from none to several pages.
public struct CommitWorkload: Sendable {
  public let seed: UInt64

  public init(seed: UInt64) { self.seed = seed }

  /// What transaction `number` (from 1) changes; a nil value deletes.
  public func changes(in number: Int) -> [(key: UInt16, value: [UInt8]?)] {
    var random = SeededRandom(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
    var changes: [UInt16: [UInt8]?] = [:]
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let key = UInt16.random(in: 0..<64, using: &random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        changes.updateValue(nil, forKey: key)
      } else {
        let isLarge = Int.random(in: 0..<6, using: &random) == 0
        let size = Int.random(in: 0..<(isLarge ? 20_000 : 300), using: &random)
        changes[key] = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
      }
    }
    return changes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// What is stored after the first `count` transactions.
  public func contents(after count: Int) -> [UInt16: [UInt8]] {
    var contents: [UInt16: [UInt8]] = [:]
    for number in 0..<count {
      for (key, value) in changes(in: number + 1) { contents[key] = value }
    }
    return contents
  }
}
