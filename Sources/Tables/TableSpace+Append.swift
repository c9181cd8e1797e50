import Bytes
public import LMDB

extension TableSpace {
  /// Appends `run` to `table`: its changes are newer than all before it. An empty run is ignored.
  ///
  /// May be repeated with the same run when the transaction failed.
  ///
  /// - Throws: `unknownTable`; LMDB's errors, after which the transaction must be given up.
  public func append(_ run: Run, to table: TableID, in transaction: borrowing WriteTransaction) throws {
    guard !run.isEmpty else { return }
    var state = try existing(table, in: transaction)
    if state.runs.count >= TableState.maximumRuns {
      _ = try combineSmall(table, &state, format(of: table, state), in: transaction, MaintenanceBudget())
    }
    try append(run, to: table, &state, at: state.runs.count, in: transaction)
    try put(state, of: table, in: transaction)
    noteActive(table)
  }

  /// Stores the chunks and adds the record at `position` of the list.
  func append(
    _ run: Run, to table: TableID, _ state: inout TableState, at position: Int,
    in transaction: borrowing WriteTransaction
  ) throws {
    let id = state.nextRun
    state.nextRun += 1
    for (index, chunk) in run.chunks.enumerated() {
      let key = TableKeys.run(table, id, chunk: UInt32(index))
      try unsafe transaction.put(runs, key, chunk.bytes.bytes)
    }
    let record = TableState.RunRecord(
      id: id, chunks: UInt32(run.chunks.count), bytes: run.byteCount, entries: run.entryCount,
      transaction: transaction.id)
    state.runs.insert(record, at: position)
  }

  /// Deletes the chunks of a run.
  func deleteRun(
    _ record: TableState.RunRecord, of table: TableID, in transaction: borrowing WriteTransaction
  ) throws {
    for chunk in 0..<record.chunks {
      try transaction.delete(runs, TableKeys.run(table, record.id, chunk: chunk))
    }
  }
}
