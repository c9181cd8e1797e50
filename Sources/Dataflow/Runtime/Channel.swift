import Synchronization

/// What travels between subtasks: records, the watermark that holds after them, then a barrier.
final class Parcel<Element: Sendable> {
  var batch: Batch<Element>?
  let records: Int
  let watermark: Watermark?
  /// The epoch that ends here.
  let barrier: UInt64?

  init(batch: consuming Batch<Element>?, records: Int, watermark: Watermark?, barrier: UInt64?) {
    self.batch = consume batch
    self.records = records
    self.watermark = watermark
    self.barrier = barrier
  }
}

/// The bounded queue from one subtask to another.
///
/// The bound is soft by one batch's output: a producer looks whether there is room before it begins a batch, and never
/// waits in the middle of one. So no cycle of waiting can arise, whatever the graph's shape.
final class Channel<Element: Sendable>: Sendable {
  private struct Waiting: ~Copyable {
    // Moved whole from producer to consumer under the lock; a parcel is touched by one thread at a time.
    nonisolated(unsafe) var parcels: [Parcel<Element>] = []
  }

  private let waiting = Mutex(Waiting())
  /// Records sent and not yet worked off, those in the consumer's hands included.
  private let load = Atomic<Int>(0)
  private let limit: Int
  private let producer: Doorbell
  private let consumer: Doorbell

  init(limit: Int, producer: Doorbell, consumer: Doorbell) {
    self.limit = limit
    self.producer = producer
    self.consumer = consumer
  }

  /// Whether the producer must not begin another batch.
  var isFull: Bool { load.load(ordering: .relaxed) >= limit }

  func send(_ parcel: sending Parcel<Element>) {
    load.add(parcel.records, ordering: .relaxed)
    waiting.withLock { unsafe $0.parcels.append(parcel) }
    consumer.ring()
  }

  /// Takes everything that waits, in order.
  func drain() -> [Parcel<Element>] {
    waiting.withLock { waiting in
      var taken: [Parcel<Element>] = []
      unsafe swap(&taken, &waiting.parcels)
      return taken
    }
  }

  /// `records` were worked off.
  func finished(_ records: Int) {
    let before = load.subtract(records, ordering: .relaxed).oldValue
    if before >= limit && before - records < limit { producer.ring() }
  }
}
