import Bytes

/// Event time of one source on one subtask: what its records, the clock and its alignment group say about it.
struct SourceTime<Element: Sendable> {
  private let strategy: WatermarkStrategy
  private(set) var progress: PartitionProgress
  /// By partition, where watermarks follow from records themselves.
  private var generators: [Int: any WatermarkGenerator<Element>] = [:]
  private var alignment: SourceAlignment?
  private let board: SourceBoard?
  private let clock: any RuntimeClock
  /// The time given to the records read last; never falls.
  private var ingested = Timestamp.min
  private var nextTick = Int64.min

  init(
    _ strategy: WatermarkStrategy, _ progress: PartitionProgress,
    generator: (@Sendable () -> any WatermarkGenerator<Element>)?, alignment: SourceAlignment?, board: SourceBoard?,
    clock: any RuntimeClock
  ) {
    self.strategy = strategy
    self.progress = progress
    self.alignment = alignment
    self.board = board
    self.clock = clock
    if strategy.clockTick != nil {
      // The clock may have been set back while the job was down.
      for partition in progress.partitions { ingested = max(ingested, partition.watermark.time) }
      if ingested > .min { ingested = ingested.advanced(byMicroseconds: 1) }
    }
    if let generator {
      for partition in progress.partitions {
        var made = generator()
        made.resume(at: partition.watermark.time)
        generators[partition.index] = made
      }
    }
  }

  /// The partitions that must not be read now.
  var paused: Set<Int> { alignment?.paused ?? [] }

  /// Whether there is nothing that may be read.
  var isHeld: Bool {
    guard let alignment, !alignment.paused.isEmpty else { return false }
    return progress.partitions.allSatisfy { $0.isEnded || alignment.paused.contains($0.index) }
  }

  /// Looks anew which partitions must wait; returns whether that changed.
  mutating func align(now: Int64) -> Bool {
    guard alignment != nil, alignment?.settle(progress) ?? false else { return false }
    showAll(now: now)
    return true
  }

  /// Gives records their time, where it is the clock's to give, and says what the generators make of them.
  mutating func observe(
    _ records: inout Batch<Element>, _ advances: [SourceBatch<Element>.Advance]
  ) -> [(latest: Timestamp?, watermark: Timestamp?)] {
    if strategy.clockTick != nil {
      ingested = max(ingested, clock.time)
      records.setTimestamps(to: ingested)
      return advances.map { ($0.range.isEmpty ? nil : ingested, nil) }
    }
    if generators.isEmpty { return advances.map { ($0.latest, nil) } }
    return advances.map { advance in
      guard !advance.range.isEmpty else { return (nil, nil) }
      return (advance.latest, generators[advance.partition]?.observe(records, advance.range) ?? .min)
    }
  }

  /// Notes how far a partition came.
  mutating func advance(
    _ advance: SourceBatch<Element>.Advance, _ seen: (latest: Timestamp?, watermark: Timestamp?), now: Int64
  ) {
    progress.advance(
      advance.partition, to: advance.position, latest: seen.latest, watermark: seen.watermark, now: now)
    if let board, let partition = progress.partition(advance.partition) {
      board.note(partition, isPaused: paused.contains(advance.partition), now: now)
    }
  }

  /// Notes that a poll found nothing; returns whether that may change what others wait for.
  mutating func foundNothing() -> Bool { alignment?.foundNothing(progress) ?? false }

  /// What time alone brings about: silent partitions become idle, clocks go on. Returns when to look again.
  mutating func pass(now: Int64) -> Int64? {
    var next = progress.checkIdleness(now: now, except: paused)
    if let tick = strategy.clockTick, !progress.isEnded {
      if now >= nextTick {
        ingested = max(ingested, clock.time)
        progress.follow(clock: ingested.advanced(byMicroseconds: -1))
        nextTick = now.saturatingAdd(tick)
      }
      next = min(next ?? nextTick, nextTick)
    }
    return next
  }

  /// The watermark if it changed.
  mutating func settle(now: Int64) -> Watermark? {
    guard let watermark = progress.settle() else { return nil }
    showAll(now: now)
    return watermark
  }

  private func showAll(now: Int64) {
    guard let board else { return }
    for partition in progress.partitions {
      board.note(partition, isPaused: paused.contains(partition.index), now: now)
    }
  }
}
