public import Bytes

/// What becomes of a record that an operator's closure throws on.
///
/// Whatever the policy, nothing of what the closure did before it threw remains: state, timers, records to any output.
public struct ErrorPolicy<Element: Sendable>: Sendable, Hashable {
  private enum Kind: Sendable, Hashable {
    case fail, skip
    case deadLetter(SideOutput<DeadLetter<Element>>)
  }
  private let kind: Kind

  /// The job fails (and restarts from its last checkpoint if its restart policy says so). The default.
  public static var fail: ErrorPolicy { ErrorPolicy(kind: .fail) }
  /// The record is left out and counted.
  public static var skip: ErrorPolicy { ErrorPolicy(kind: .skip) }
  /// The record is left out, counted, and sent to `output` with the reason, in the same checkpoint. Read it with
  /// `flow.from(output)`; several operators over one type of element may share an output.
  public static func deadLetter(_ output: SideOutput<DeadLetter<Element>>) -> ErrorPolicy {
    ErrorPolicy(kind: .deadLetter(output))
  }

  /// The side output that the policy writes to, for the operator's description.
  public var sides: [SidePort] {
    if case .deadLetter(let output) = kind { [SidePort(output)] } else { [] }
  }
}

extension Stream {
  /// The policies for operators on this stream.
  public typealias ErrorPolicy = Dataflow.ErrorPolicy<Element>
}

extension KeyedStream {
  /// The policies for operators on this stream.
  public typealias ErrorPolicy = Dataflow.ErrorPolicy<Element>
}

extension WindowedStream {
  /// The policies for operators on this stream.
  public typealias ErrorPolicy = Dataflow.ErrorPolicy<Element>
}

extension ErrorPolicy {
  /// Decides about record `index` of `batch`, which failed: counts it and sends it away, or throws what fails the job.
  @inlinable
  public func handle(
    _ error: any Error, _ context: OperatorContext, _ batch: borrowing Batch<Element>, _ index: Int
  ) throws {
    try handle(
      error, context, element: { batch[index] }, batch.keys, index, at: batch.timestamp(index))
  }

  /// Decides about what failed with no record at hand, as a timer or a window: its key is number `index` of `keys`.
  public func handle(
    _ error: any Error, _ context: OperatorContext, element: () -> Element? = { nil }, _ keys: borrowing KeyColumn,
    _ index: Int, at time: Timestamp
  ) throws {
    switch kind {
    case .fail: throw context.failure(error)
    case .skip: context.counters.skipped(1)
    case .deadLetter(let output):
      context.counters.deadLettered(1)
      let key = index < keys.count ? unsafe keys.withBytes(at: index) { unsafe [UInt8]($0) } : nil
      try context.send(
        DeadLetter(
          reason: "\(error)", operatorName: context.name, job: context.job, element: element(), key: key,
          timestamp: time),
        to: output, keys, index)
    }
  }

  /// Decides about a failure of which nothing but the error is known.
  @usableFromInline
  func handle(_ error: any Error, _ context: OperatorContext) throws {
    try handle(error, context, KeyColumn(), 0, at: context.initialWatermark)
  }
}
