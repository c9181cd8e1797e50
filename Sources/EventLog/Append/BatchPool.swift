import Synchronization

/// Batches to be filled again, over all topics of a log: idle topics keep no memory of their own.
final class BatchPool: Sendable {
  /// How many are kept, and how large each may be, in bytes.
  private static let most = 64
  private static let largest = 1 << 20

  private let free = Mutex<[BatchHandle]>([])

  deinit {
    free.withLock { batches in
      for batch in batches { batch.free() }
    }
  }

  func take() -> BatchHandle { free.withLock { $0.popLast() } ?? .make() }

  func give(_ batch: BatchHandle) {
    unsafe batch.pointer.pointee.forget()
    let isKept = free.withLock { free in
      if unsafe free.count >= Self.most || batch.pointer.pointee.byteCount > Self.largest { return false }
      free.append(batch)
      return true
    }
    if !isKept { batch.free() }
  }
}
