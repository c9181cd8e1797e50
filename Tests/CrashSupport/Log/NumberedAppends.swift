/// A run of appends that follows from a seed alone: a child appends them, the test that crashed it knows what must be
/// there. Records are numbered from 1 on; each begins with its number.
public struct NumberedAppends: Sendable {
  public static let partitions = 3

  /// What is done after the record was acknowledged.
  public enum Step: Sendable { case none, delay, flush, maintain }

  public struct Record: Sendable {
    public var partition: Int
    public var value: [UInt8]
    public var step: Step
  }

  public let seed: UInt64

  public init(seed: UInt64) { self.seed = seed }

  public func record(_ number: Int) -> Record {
    var random = SeededRandom(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
    let partition = Int.random(in: 0..<Self.partitions, using: &random)
    let isLarge = Int.random(in: 0..<5, using: &random) == 0
    let padding = Int.random(in: 0..<(isLarge ? 9000 : 200), using: &random)
    let steps: [Step] = [.delay, .flush, .maintain] + Array(repeating: .none, count: 12)
    let step = steps[Int.random(in: 0..<steps.count, using: &random)]
    return Record(
      partition: partition, value: Array("\(number) ".utf8) + Array(repeating: 0x2D, count: padding), step: step)
  }
}
