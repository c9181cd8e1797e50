public import Bytes

/// Derives one partition's watermarks from its records: a value per partition, called once per batch of its records.
///
/// It begins anew with every run and after every rescale; the watermark that the partition had reached is kept by the
/// store and never falls, whatever the generator says.
public protocol WatermarkGenerator<Element>: Sendable {
  associatedtype Element: Sendable

  /// The partition goes on at `watermark`, `Timestamp.min` if it is new. Called once, before anything else.
  mutating func resume(at watermark: Timestamp)
  /// Looks at records `range` of `batch`, in the order of their partition, and says how far event time is now: no
  /// record at or before it is expected. Nil or an earlier time leaves it where it was.
  mutating func observe(_ batch: borrowing Batch<Element>, _ range: Range<Int>) -> Timestamp?
}

extension WatermarkGenerator {
  public mutating func resume(at watermark: Timestamp) {}
}

/// How a source derives watermarks from its records themselves, partition by partition.
public struct Watermarks<Element: Sendable>: Sendable {
  private(set) var strategy: WatermarkStrategy
  let makeGenerator: @Sendable () -> any WatermarkGenerator<Element>

  /// By a copy of `generator` for each partition.
  public static func generated(by generator: some WatermarkGenerator<Element>, idleness: Duration? = nil) -> Self {
    Watermarks(strategy: .generated(idleness: idleness)) { generator }
  }

  /// By marks in the records: `mark` is asked for each record, and a time that it returns says that nothing at or
  /// before it follows in this partition. Costs a call per record.
  public static func punctuated(
    idleness: Duration? = nil, _ mark: @escaping @Sendable (_ element: Element, _ time: Timestamp) -> Timestamp?
  ) -> Self {
    generated(by: PunctuatedWatermarks(mark: mark), idleness: idleness)
  }

  /// As `WatermarkStrategy.aligned(_:maximumDrift:)`.
  public func aligned(_ group: String, maximumDrift: Duration) -> Self {
    var result = self
    result.strategy = strategy.aligned(group, maximumDrift: maximumDrift)
    return result
  }
}

private struct PunctuatedWatermarks<Element: Sendable>: WatermarkGenerator {
  let mark: @Sendable (Element, Timestamp) -> Timestamp?

  func observe(_ batch: borrowing Batch<Element>, _ range: Range<Int>) -> Timestamp? {
    var reached: Timestamp?
    for index in range {
      if let time = mark(batch[index], batch.timestamp(index)), time > reached ?? .min { reached = time }
    }
    return reached
  }
}
