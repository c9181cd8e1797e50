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
  private(set) var progress: PartitionProgress

  init(
    _ source: S, _ request: SourceRequest, _ progress: PartitionProgress, _ receiver: Receiver<S.Element>,
    _ counters: OperatorCounters
  ) {
    self.source = source
    self.request = request
    self.progress = progress
    self.receiver = receiver
    self.counters = counters
  }

  var name: String { source.name }
  var isEnded: Bool { progress.isEnded }
  var idlePollInterval: Int64 { reader?.idlePollInterval.wholeMicroseconds ?? .max }

  func start() throws {
    if !request.partitions.isEmpty {
      do {
        reader = try source.open(request)
      } catch { throw DataflowError.source(name, "cannot be opened", error) }
    }
    try receiver.watermark(progress.watermark)
  }

  func poll(limit: Int, now: Int64) throws -> Int {
    guard let reader, !progress.isEnded else { return 0 }
    var output = SourceBatch<S.Element>(capacity: 0)
    do {
      try reader.poll(into: &output, limit: limit)
    } catch { throw DataflowError.source(name, "cannot be read", error) }
    if output.skipped > 0 { counters.skipped(output.skipped) }
    let advances = output.advances
    if advances.isEmpty { return 0 }
    let records = output.takeRecords()
    let count = records.count
    if count > 0 {
      counters.emitted(count)
      try receiver.batch(records)
    }
    for advance in advances {
      progress.advance(advance.partition, to: advance.position, latest: advance.latest, now: now)
    }
    try passWatermark()
    return max(count, 1)
  }

  func checkIdleness(now: Int64) throws -> Int64? {
    let next = progress.checkIdleness(now: now)
    try passWatermark()
    return next
  }

  private func passWatermark() throws {
    if let watermark = progress.settle() {
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
