/// What an idempotent append did.
public struct IdempotentResult: Sendable, Hashable {
  /// The offsets of the records that were appended now; empty if all were repeats.
  public var positions: Range<Int64>
  public var partition: Int
  /// How many records, the first ones, were there already.
  public var repeated: Int
  /// Where these are; nil if there are none, or if it is not known any more: the log remembers the last five stretches
  /// of offsets that the producer filled without a gap, at least its last five appends.
  public var repeatedPositions: Range<Int64>?
}
