public import LMDB

/// The view of the state file through which the states of one subtask read what they do not hold.
///
/// One read transaction for all of them, begun at the first miss and given up at each `renew`, so that an idle subtask
/// pins nothing. One thread at a time.
public final class StateSnapshot {
  private let environment: Environment
  private var transaction: ReadTransaction?

  public init(_ environment: Environment) { self.environment = environment }

  /// The next read sees the newest commit.
  public func renew() { transaction = nil }

  /// Runs `body` on the transaction. One that was ended for its age is replaced: a later view of committed state is as
  /// good, since what was evicted is committed in it too.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      return try run(body)
    } catch let error as LMDBError where error.code == .readerExpired {
      transaction = nil
      return try run(body)
    }
  }

  private func run<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    if transaction == nil { transaction = try environment.beginRead() }
    guard let result = try transaction.withBorrowed(body) else {
      throw LMDBError(.badHandle, path: environment.path, operation: "read state")
    }
    return result
  }
}

extension Optional where Wrapped == ReadTransaction {
  fileprivate func withBorrowed<R>(_ body: (borrowing ReadTransaction) throws -> R) rethrows -> R? {
    switch self {
    case .some(let transaction): try body(transaction)
    case .none: nil
    }
  }
}
