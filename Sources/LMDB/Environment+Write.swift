import CLMDB
import Glibc
import Synchronization

extension Environment {
  /// Runs `body` in the file's write transaction and commits when it returns; an error undoes everything.
  ///
  /// Waits for a write transaction of another thread or process. Stays on the calling thread from begin to commit. Not
  /// from inside another write of the same file.
  ///
  /// - Throws: what `body` throws; `mapFull` and `diskFull` leave the file as it was and the next write may succeed;
  ///   an input/output error poisons the environment: all later writes throw `poisoned`. If `body` swallowed an error
  ///   that LMDB cannot go on after, as `mapFull`, it is thrown at the end.
  public func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
    guard isWritable else { throw LMDBError(.openedReadOnly, path: path, operation: "write") }
    if core.isPoisoned.load(ordering: .relaxed) { throw LMDBError(.poisoned, path: path, operation: "write") }
    let transaction = unsafe try core.beginWriting()
    defer { core.endWriting() }
    let result: R
    do {
      result = try unsafe body(WriteTransaction(transaction, core))
    } catch {
      unsafe mdb_txn_abort(transaction)
      throw error
    }
    try unsafe core.commit(transaction, "commit")
    return result
  }
}

extension EnvironmentCore {
  fileprivate func beginWriting() throws(LMDBError) -> OpaquePointer {
    try refuseNestedWrite("write")
    readers.enter()
    do {
      let transaction = unsafe try begin(flags: 0, "begin writing")
      writingThread.store(UInt(pthread_self()), ordering: .relaxed)
      firstWriteFailure.store(0, ordering: .relaxed)
      return unsafe transaction
    } catch {
      readers.leave()
      throw error
    }
  }

  fileprivate func endWriting() {
    // The next writer may be in already: only this thread's own mark is taken away.
    _ = writingThread.compareExchange(expected: UInt(pthread_self()), desired: 0, ordering: .relaxed)
    readers.leave()
  }

  /// LMDB's lock is not recursive: a second write on the thread that is in one would wait for itself.
  func refuseNestedWrite(_ operation: String) throws(LMDBError) {
    // Only this thread can have stored its own number.
    if writingThread.load(ordering: .relaxed) == UInt(pthread_self()) {
      throw LMDBError(
        .badHandle, path: path, operation: operation, detail: "this thread is inside a write of the same file")
    }
  }

  /// Commits; after an error the transaction is gone and nothing of it is visible.
  func commit(_ transaction: OpaquePointer, _ operation: String) throws(LMDBError) {
    let earlier = firstWriteFailure.load(ordering: .relaxed)
    errno = 0
    let code = unsafe mdb_txn_commit(transaction)
    if code == MDB_BAD_TXN, earlier != 0 { throw LMDBError(returnCode: earlier, path: path, operation: operation) }
    if code != MDB_SUCCESS { throw LMDBError(returnCode: outcome(code), path: path, operation: operation) }
  }

  /// Throws the error of `code`, a step that may have written to the file. `errno` was zero before that step.
  @inline(__always)
  func checkWrite(_ code: Int32, _ operation: @autoclosure () -> String) throws(LMDBError) {
    if code != MDB_SUCCESS { throw writeFailure(code, operation()) }
  }

  private func writeFailure(_ code: Int32, _ operation: String) -> LMDBError {
    let code = outcome(code)
    if firstWriteFailure.load(ordering: .relaxed) == 0 { firstWriteFailure.store(code, ordering: .relaxed) }
    return LMDBError(returnCode: code, path: path, operation: operation)
  }

  /// What `code` of a step that wrote means; poisons the environment if the outcome is unknown.
  private func outcome(_ code: Int32) -> Int32 {
    // LMDB reports a short write as EIO, but no call failed: there was room for a part only.
    if code == EIO && errno != EIO { return ENOSPC }
    if code == EIO || code == MDB_PANIC { isPoisoned.store(true, ordering: .relaxed) }
    return code
  }
}
