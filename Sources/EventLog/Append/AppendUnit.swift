import Bytes
import Synchronization

/// What a partition's end must be for a unit to be written.
struct Expectation: Sendable, Hashable {
  var partition: Int
  var offset: Int64
}

/// Batches that go into one commit together, or not at all.
///
/// They stand one behind the other in the queue, which never parts them; the writer decides over all of them before it
/// writes the first.
final class AppendUnit: Sendable {
  private struct State {
    var outcomes: [BatchOutcome] = []
    var remaining: Int
    var failure: EventLogError?
  }

  /// How many it has.
  let batches: Int
  let expectations: [Expectation]
  private let state: Mutex<State>
  private let done: @Sendable (Result<[BatchOutcome], EventLogError>) -> Void

  /// `done` gets the outcomes of the unit's batches in their order, or why none was written.
  init(
    batches: Int, expectations: [Expectation] = [],
    done: @escaping @Sendable (Result<[BatchOutcome], EventLogError>) -> Void
  ) {
    self.batches = batches
    self.expectations = expectations
    self.done = done
    state = Mutex(State(remaining: batches))
  }

  /// Takes the outcome of the next batch.
  func finish(_ outcome: Result<BatchOutcome, EventLogError>) {
    let result = state.withLock { state -> Result<[BatchOutcome], EventLogError>? in
      switch outcome {
      case .success(let outcome): state.outcomes.append(outcome)
      case .failure(let error): state.failure = state.failure ?? error
      }
      state.remaining -= 1
      guard state.remaining == 0 else { return nil }
      return state.failure.map { .failure($0) } ?? .success(state.outcomes)
    }
    if let result { done(result) }
  }
}

/// The records of a unit, encoded into batches of their own: with no lock held, and again if there is no room yet.
// Invariant of `@unchecked Sendable`: used by one thread or task at a time; it owns `batches` until the queue took
// them.
final class EncodedUnit: @unchecked Sendable {
  /// Where a record is: the batch, and its index in there.
  struct Place {
    var batch: Int32
    var index: Int32
  }

  private(set) var batches: [BatchHandle] = []
  private(set) var places: [Place] = []
  private let queue: AppendQueue
  private let batchBytes: Int
  /// Per partition the batch that is being filled.
  private var open: [Int: Int] = [:]
  private var last = (partition: -1, batch: 0)

  init(_ queue: AppendQueue, batchBytes: Int? = nil, count: Int) {
    self.queue = queue
    self.batchBytes = batchBytes ?? queue.limits.batchBytes
    places.reserveCapacity(count)
  }

  deinit {
    for batch in batches { queue.giveBack(batch) }
  }

  /// Adds a record, whose size has been checked, to a batch of `partition`.
  func add(_ record: NewRecord, partition: Int) {
    let number = last.partition == partition ? last.batch : batch(of: partition)
    let batch = batches[number]
    unsafe places.append(Place(batch: Int32(number), index: Int32(batch.pointer.pointee.count)))
    let headers = LogHeader.encode(record.headers)
    unsafe record.value.withUnsafeBytes { value in
      unsafe (record.key ?? []).withUnsafeBytes { key in
        unsafe batch.pointer.pointee.append(
          key: key, hasKey: record.key != nil, value: value, timestamp: record.timestamp.microseconds,
          headers: headers)
      }
    }
    last = (partition, number)
    if unsafe batch.pointer.pointee.byteCount >= batchBytes || batch.pointer.pointee.count == OpenBatch.maximumCount {
      open[partition] = nil
      last = (-1, 0)
    }
  }

  private func batch(of partition: Int) -> Int {
    if let number = open[partition] { return number }
    let batch = queue.borrow(partition)
    open[partition] = batches.count
    batches.append(batch)
    return batches.count - 1
  }

  /// Whether a batch of `partition` is being filled.
  func isFilling(_ partition: Int) -> Bool { open[partition] != nil }

  /// Compresses and computes the checksums, so that the writer need not: when all records are added.
  func complete(_ compression: CompressionSetting) {
    compression.use { compressor, level in
      for batch in batches { unsafe batch.pointer.pointee.prepare(compressor, level: level) }
    }
  }

  /// The batches are the queue's from now on.
  func wasTaken() { batches = [] }

  /// The positions of the records whose batches had `outcomes`.
  static func positions(_ places: [Place], _ outcomes: [BatchOutcome]) -> [LogPosition] {
    places.map { place in
      outcomes[Int(place.batch)].position(Int(place.index))
    }
  }
}
