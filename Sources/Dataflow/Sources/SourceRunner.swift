import Bytes

/// One source on one subtask, as the subtask's loop sees it.
protocol SourceDriver: AnyObject {
  var name: String { get }
  var progress: PartitionProgress { get }
  /// Whether every partition of a bounded run came to its end.
  var isEnded: Bool { get }
  /// Opens the reader and says where event time stood.
  func start() throws
  /// Reads and passes on one batch; returns the number of records, 1 if only positions moved.
  func poll(limit: Int, now: Int64) throws -> Int
  /// Looks for partitions that fell silent; returns when to look again.
  func checkIdleness(now: Int64) throws -> Int64?
  /// Nothing more comes: fires everything that waits.
  func drain() throws
  /// How long to sleep at most after a poll without records, in microseconds.
  var idlePollInterval: Int64 { get }
  func close()
}

/// Drives a reader: keeps positions and watermarks, hands the batches on.
final class SourceRunner<S: Source>: SourceDriver {
  private let source: S
  private let request: SourceRequest
  private let receiver: Receiver<S.Element>
  private let counters: OperatorCounters
  private var reader: S.Reader?
  private var time: SourceTime<S.Element>

  init(
    _ source: S, _ request: SourceRequest, _ time: SourceTime<S.Element>, _ receiver: Receiver<S.Element>,
    _ counters: OperatorCounters
  ) {
    self.source = source
    self.request = request
    self.time = time
    self.receiver = receiver
    self.counters = counters
  }

  var name: String { source.name }
  var progress: PartitionProgress { time.progress }
  var isEnded: Bool { time.progress.isEnded }
  var idlePollInterval: Int64 {
    // Who waits for others is rung by them.
    time.isHeld ? .max : reader?.idlePollInterval.wholeMicroseconds ?? .max
  }

  func start() throws {
    if !request.partitions.isEmpty {
      do {
        reader = try source.open(request)
      } catch { throw DataflowError.source(name, "cannot be opened", error) }
    }
    try receiver.watermark(time.progress.watermark)
  }

  func poll(limit: Int, now: Int64) throws -> Int {
    guard let reader, !time.progress.isEnded else { return 0 }
    align(now)
    if time.isHeld { return 0 }
    var output = SourceBatch<S.Element>(capacity: 0)
    do {
      try reader.poll(into: &output, limit: limit)
    } catch { throw DataflowError.source(name, "cannot be read", error) }
    if output.skipped > 0 { counters.skipped(output.skipped) }
    let advances = output.advances
    if advances.isEmpty { return time.foundNothing() ? 1 : 0 }
    var records = output.takeRecords()
    let count = records.count
    let seen = time.observe(&records, advances)
    if count > 0 {
      counters.emitted(count)
      try receiver.batch(records)
    }
    for index in advances.indices { time.advance(advances[index], seen[index], now: now) }
    align(now)
    try passWatermark(now)
    return max(count, 1)
  }

  func checkIdleness(now: Int64) throws -> Int64? {
    let next = time.pass(now: now)
    align(now)
    try passWatermark(now)
    return next
  }

  /// Tells the reader which partitions must wait; one that cannot leave them out is held as a whole, by `isHeld`.
  private func align(_ now: Int64) {
    if time.align(now: now) { _ = reader?.pause(time.paused) }
  }

  private func passWatermark(_ now: Int64) throws {
    if let watermark = time.settle(now: now) {
      counters.watermark(watermark.time)
      try receiver.watermark(watermark)
    }
  }

  func drain() throws { try receiver.watermark(Watermark(.max)) }

  func close() {
    reader?.close()
    reader = nil
  }
}
