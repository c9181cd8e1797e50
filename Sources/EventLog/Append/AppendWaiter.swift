import LMDB
import Synchronization

/// What became of a batch: where its records went, and how many at its front were repeats.
struct BatchOutcome: Sendable, Equatable {
  var partition: Int
  /// The offset of the first record that was appended, or the partition's end if all were repeats.
  var firstOffset: Int64
  var appended: Int
  var dropped: Int
  /// Where the first of the repeats is, if that is known.
  var repeatedAt: Int64?
}

extension BatchOutcome {
  /// How many records the batch had.
  var count: Int { appended + dropped }

  var repeatedPositions: Range<Int64>? { repeatedAt.flatMap { dropped > 0 ? $0..<$0 + Int64(dropped) : nil } }

  /// Where the record at `index` of the batch is; −1 as offset for a repeat of which that is not known any more.
  func position(_ index: Int) -> LogPosition {
    if index >= dropped { return LogPosition(partition: partition, offset: firstOffset + Int64(index - dropped)) }
    return LogPosition(partition: partition, offset: repeatedAt.map { $0 + Int64(index) } ?? -1)
  }
}

/// Somebody who waits for a batch to be durable, or to have failed.
enum AppendWaiter: Sendable {
  /// A task that appended the record at `index` of the batch.
  case task(CheckedContinuation<LogPosition, any Error>, index: Int)
  /// A plain thread that appended the record at `index`.
  case thread(BlockingResult<LogPosition>, index: Int)
  /// An idempotent append of the whole batch.
  case idempotent(AnyWaiter<IdempotentResult>)

  func resume(_ result: Result<BatchOutcome, EventLogError>) {
    func position(_ index: Int) -> Result<LogPosition, any Error> {
      result.map { LogPosition(partition: $0.partition, offset: $0.firstOffset + Int64(index)) }.mapError { $0 }
    }
    switch self {
    case .task(let continuation, let index): continuation.resume(with: position(index))
    case .thread(let blocked, let index): blocked.finish(position(index))
    case .idempotent(let waiter):
      waiter.resume(
        result.map {
          IdempotentResult(
            positions: $0.firstOffset..<$0.firstOffset + Int64($0.appended), partition: $0.partition,
            repeated: $0.dropped, repeatedPositions: $0.repeatedPositions)
        }.mapError { $0 })
    }
  }
}

/// A suspended task, a waiting plain thread, or something else to be done then.
enum AnyWaiter<Value: Sendable>: Sendable {
  case task(CheckedContinuation<Value, any Error>)
  case thread(BlockingResult<Value>)
  case callback(RoomWaiter)

  func resume(_ result: Result<Value, any Error>) {
    switch self {
    case .task(let continuation): continuation.resume(with: result)
    case .thread(let blocked): blocked.finish(result)
    case .callback(let waiter): waiter.goOn()
    }
  }
}

/// What goes on when there is room in the queue.
struct RoomWaiter: Sendable {
  let goOn: @Sendable () -> Void
}

/// A result that a plain thread waits for.
final class BlockingResult<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let done = Semaphore()

  func finish(_ value: Result<Value, any Error>) {
    result.withLock { $0 = value }
    done.signal()
  }

  /// Waits no longer than `milliseconds`; returns whether it is finished.
  func wait(milliseconds: Int) -> Bool { done.wait(milliseconds: milliseconds) }

  func wait() throws -> Value {
    done.wait()
    guard let outcome = result.withLock({ $0 }) else {
      throw EventLogError(.closed, "the log was closed while a thread waited for it")
    }
    return try outcome.get()
  }
}
