import Bytes
public import LMDB
public import Tables

/// The view of the state file through which the states of one subtask read what they do not hold.
///
/// One read transaction for all of them, begun at the first miss and given up at each `renew`, so that an idle subtask
/// pins nothing. One thread at a time.
public final class StateSnapshot {
  private let environment: Environment
  private var transaction: ReadTransaction?
  /// Counts the transactions, so that states know when to look for their tables anew.
  private(set) var generation = 0

  public init(_ environment: Environment) { self.environment = environment }

  /// The next read sees the newest commit.
  public func renew() { transaction = nil }

  /// Runs `body` on the transaction. One that was ended for its age is replaced: a later view of committed state is as
  /// good, since what was evicted is committed in it too.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      return try run(body)
    } catch let error as LMDBError where error.code == .readerExpired {
      transaction = nil
      return try run(body)
    }
  }

  private func run<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    if transaction == nil {
      transaction = try environment.beginRead()
      generation += 1
    }
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

/// Looks one table's keys up in a subtask's snapshot. Not generic: what is per type is the decoding only.
@usableFromInline
final class StateLookup {
  private let space: TableSpace
  private let table: TableID
  private let snapshot: StateSnapshot
  private var reader: TableReader?
  private var generation = 0
  private var key = ByteBuffer(capacity: 64)

  @usableFromInline
  init(_ space: TableSpace, _ table: TableID, _ snapshot: StateSnapshot) {
    self.space = space
    self.table = table
    self.snapshot = snapshot
  }

  /// The stored bytes of the key, or nil; valid until the snapshot is renewed.
  @usableFromInline
  func find(_ bytes: UnsafeRawBufferPointer, hash: UInt64) throws -> UnsafeRawBufferPointer? {
    // A first load, over nothing, is the path of every new key of a new job.
    if let reader, generation == snapshot.generation, reader.isEmpty { return nil }
    return try unsafe read { reader, transaction in
      key.removeAll()
      key.append(UInt8(truncatingIfNeeded: hash >> 57))
      unsafe key.append(bytes)
      return try unsafe reader.get(key.bytes, in: transaction)
    } ?? nil
  }

  /// Runs `body` on the table as of the snapshot; nil where nothing was ever stored.
  func read<R>(_ body: (TableReader, borrowing ReadTransaction) throws -> R) throws -> R? {
    try snapshot.read { transaction in
      if reader == nil || reader?.transactionID != transaction.id {
        reader = try space.reader(table, in: transaction)
      }
      generation = snapshot.generation
      guard let reader, !reader.isEmpty else { return nil }
      return try body(reader, transaction)
    }
  }

  @usableFromInline
  func renew() {
    snapshot.renew()
    reader = nil
  }
}
