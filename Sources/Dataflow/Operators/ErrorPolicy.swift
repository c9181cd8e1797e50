/// What becomes of a record that an operator's closure throws on.
public struct ErrorPolicy: Sendable, Hashable {
  private enum Kind: Sendable { case fail, skip }
  private let kind: Kind

  /// The job fails (and restarts from its last checkpoint if its restart policy says so). The default.
  public static let fail = ErrorPolicy(kind: .fail)
  /// The record is left out, with everything it did to state, timers and outputs, and counted.
  public static let skip = ErrorPolicy(kind: .skip)
}

extension ErrorPolicy {
  /// Decides about a record that failed: counts it, or throws what fails the job.
  @usableFromInline
  func handle(_ error: any Error, _ context: OperatorContext) throws {
    switch kind {
    case .fail: throw context.failure(error)
    case .skip: context.counters.skipped(1)
    }
  }
}
