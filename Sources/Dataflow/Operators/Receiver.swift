/// The input side of a stage on one subtask: what the stage above calls, on the subtask's thread, in order.
///
/// Both are called once per batch, never per record. A batch that a stage passes on is moved, not copied.
@frozen
public struct Receiver<Element: Sendable> {
  /// Takes a batch.
  public let batch: (consuming Batch<Element>) throws -> Void
  /// Takes a watermark: it holds for everything received after it.
  public let watermark: (Watermark) throws -> Void
  /// Whether nobody looks at what it takes: then there is no need to make it.
  public let isDiscarding: Bool

  @inlinable
  public init(
    isDiscarding: Bool = false, batch: @escaping (consuming Batch<Element>) throws -> Void,
    watermark: @escaping (Watermark) throws -> Void
  ) {
    self.isDiscarding = isDiscarding
    self.batch = batch
    self.watermark = watermark
  }

  /// Takes everything and drops it.
  @inlinable
  public static var discarding: Receiver<Element> {
    Receiver(isDiscarding: true, batch: { batch in _ = consume batch }, watermark: { _ in })
  }

  /// Passes everything to each of `receivers`; all but the last get a copy.
  public static func fork(_ receivers: [Receiver<Element>]) -> Receiver<Element> {
    guard let last = receivers.last else { return .discarding }
    guard receivers.count > 1 else { return last }
    let others = receivers.dropLast()
    return Receiver(
      batch: { batch in
        for other in others { try other.batch(batch.copy()) }
        try last.batch(batch)
      },
      watermark: { watermark in
        for receiver in receivers { try receiver.watermark(watermark) }
      })
  }
}
