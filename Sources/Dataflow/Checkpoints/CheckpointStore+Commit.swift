import Bytes
import Glibc
import LMDB
import Synchronization
import Tables

// Everything here runs on the writer thread.
extension CheckpointStore {
  /// Commits `epochs` together; if that fails, one by one, so that one job's trouble stays its own.
  func commit(_ epochs: [SealedEpoch]) {
    let ready = epochs.filter(isReady)
    if ready.isEmpty { return }
    if ready.count > 1, (try? transact(ready)) != nil { return }
    for epoch in ready {
      if let failure = epoch.lane.failure {
        epoch.completed(.failure(failure))
      } else {
        commitAlone(epoch)
      }
    }
  }

  /// Whether the epoch may be committed; its job is told if not.
  private func isReady(_ epoch: SealedEpoch) -> Bool {
    do {
      if let failure = epoch.lane.failure { throw failure }
      try epoch.ensureDurable()
      return true
    } catch {
      fail(epoch, error)
      return false
    }
  }

  private func fail(_ epoch: SealedEpoch, _ error: any Error) {
    epoch.lane.fail(error)
    epoch.completed(.failure(error))
  }

  /// Commits one epoch, again and again while there is hope that room is made.
  private func commitAlone(_ epoch: SealedEpoch) {
    var attempt = 0
    while true {
      do {
        try transact([epoch])
        return
      } catch {
        let isRetriable = (error as? LMDBError)?.isRetriable ?? (error as? DataflowError)?.isRetriable ?? false
        if attempt >= retry.attempts || !isRetriable {
          let reason = DataflowError(
            .checkpointFailed, epoch.job,
            "epoch \(epoch.number) could not be committed; the last checkpoint is intact, a new run continues from it",
            cause: error, isRetriable: isRetriable)
          return fail(epoch, reason)
        }
        attempt += 1
        // Nobody else could write either: room must be made first. Old readers of dead processes may hold it.
        _ = try? environment.clearStaleReaders()
        usleep(UInt32(clamping: retry.pause.wholeMicroseconds))
      }
    }
  }

  /// Writes and commits `epochs` in one transaction and tells everybody.
  private func transact(_ epochs: [SealedEpoch]) throws {
    let budget = MaintenanceBudget(sweeps: try mayMerge())
    let checkpoint = try environment.write { transaction in
      var figures = try catalogue.figures(in: transaction)
      figures.checkpoint += 1
      for epoch in epochs {
        for part in epoch.parts { try part.write(in: transaction, checkpoint: figures.checkpoint) }
        try record(epoch, checkpoint: figures.checkpoint, in: transaction)
      }
      try catalogue.put(figures, in: transaction)
      _ = try tables.maintain(in: transaction, budget: budget)
      return figures.checkpoint
    }
    for epoch in epochs {
      for part in epoch.parts { part.committed(checkpoint: checkpoint) }
      epoch.completed(.success(checkpoint))
    }
  }

  /// Whether runs may be merged now; old readers forbid it.
  ///
  /// - Throws: `checkpointFailed`, naming the process whose reader has made the file grow too far.
  private func mayMerge() throws -> Bool {
    let usage = environment.usage
    let action = readers.withLock { readers in
      readers.decide(now: clock.now, lastTransaction: usage.lastTransactionID, bytesUsed: usage.bytesUsed) {
        environment.openReaders()
      }
    }
    switch action {
    case .merge: return true
    case .pause: return false
    case .refuse(let process, let growth):
      throw DataflowError(
        .checkpointFailed, "state file",
        "a reader of process \(process) has been open while the file grew by \(growth) bytes; end that reader, "
          + "then run the job again: it continues from the last checkpoint", isRetriable: true)
    }
  }

  private func record(_ epoch: SealedEpoch, checkpoint: UInt64, in transaction: borrowing WriteTransaction) throws {
    guard var record = try catalogue.job(epoch.job, in: transaction) else {
      throw DataflowError(.damaged, epoch.job, "its record is gone from the catalogue while it runs")
    }
    record.epoch = epoch.number
    record.checkpoint = checkpoint
    record.time = epoch.time
    record.parallelism = epoch.parallelism
    record.sources = epoch.sources
    record.watermarks = epoch.watermarks
    switch epoch.end {
    case .goesOn: record.status = .running
    case .stop: record.status = .stopped
    case .drain: record.status = .drained
    }
    try catalogue.put(record, in: transaction)
  }
}
