import Bytes

/// One slice of a job: its part of every operator, driven step by step by one thread.
///
/// A step never waits. So the same code runs on threads of its own, and in tests beside its peers on one thread in any
/// order.
final class Subtask {
  /// What came of a step.
  enum Step: Equatable {
    /// Something was done; there may be more.
    case worked
    /// There is nothing to do before this time, unless the bell rings.
    case idle(until: Int64)
    /// The run is over for this subtask.
    case finished
  }

  let index: Int
  private let run: RunContext
  private let coordinator: EpochCoordinator
  private let regions: [Region]
  private let sources: [any SourceDriver]
  private let inlets: [(inlet: any Inlet, region: Int)]
  private var seal = SubtaskSeal()
  private var unsealed = 0
  /// Whether region 0 has yet to seal the epoch.
  private var awaitsSeal = false
  /// The epoch whose barrier the sources have passed.
  private var epoch: UInt64
  private var notified: UInt64
  private var end = EpochEnd.goesOn
  private var saidExhausted = false
  private var turn = 0
  /// Whether this subtask looks whether a barrier is due: one is enough for the clock, counted records come anywhere.
  private let keepsTime: Bool

  init(_ run: RunContext, index: Int) throws {
    self.run = run
    self.index = index
    coordinator = run.coordinator
    keepsTime = index == 0 || run.options.checkpoints.records != nil
    let builder = SubtaskBuilder(run, subtask: index)
    try builder.build()
    regions = builder.regions
    sources = builder.sources
    inlets = builder.inlets
    epoch = run.recovered.record.epoch
    notified = epoch
    for region in regions { region.sealed = epoch }
    for source in sources { try source.start() }
  }

  /// Does one piece of work: what lies furthest downstream first, so that queues empty before they fill.
  func step() throws -> Step {
    if coordinator.isAborted { return .finished }
    let now = run.options.clock.now
    try noteCommit()
    if end != .goesOn && unsealed == 0 {
      return notified == epoch ? .finished : .idle(until: .max)
    }
    let nextBarrier = keepsTime ? coordinator.tick(now: now) : .max
    var worked = try passBarrier()
    let nextWork = try work(now)
    if nextWork <= now { worked = true }
    for entry in inlets.reversed() where mayWork(regions[entry.region]) && !regions[entry.region].isFull {
      if try entry.inlet.step() { worked = true }
      if let aligned = entry.inlet.aligned, mayPass(regions[entry.region]) {
        try sealRegion(entry.region, aligned)
        entry.inlet.release()
        worked = true
      }
    }
    if try poll(now) { worked = true }
    var next = min(nextBarrier, nextWork, try checkTimes(now))
    for region in regions {
      if let due = region.flush(now: now) { next = min(next, due) }
    }
    return worked ? .worked : .idle(until: next)
  }

  /// Releases what the subtask holds.
  func close() {
    for source in sources { source.close() }
    for region in regions { region.close() }
  }

  /// Whether a region may take another batch: there is room behind it and in its memory.
  private func mayWork(_ region: Region) -> Bool {
    if region.isBlocked { return false }
    guard region.isOverBudget else { return true }
    // Only a commit makes room. Until its barrier has passed the region must go on, or there will be none.
    coordinator.hurry()
    return region.sealed < coordinator.begunEpoch || region.sealed == coordinator.committedEpoch
  }

  /// Whether a barrier that came may pass: the one at the sources' ends waits for what is under way.
  private func mayPass(_ region: Region) -> Bool { !(coordinator.isComplete && region.isBusy) }

  /// Lets the regions' workers work; returns when to come again, `now` if something was done.
  private func work(_ now: Int64) throws -> Int64 {
    var next = Int64.max
    for region in regions.reversed()
    where region.hasWorkers && mayWork(region) && (end == .goesOn || region.sealed < epoch) {
      let time = run.options.clock.time
      let (worked, due) = try region.work(at: time)
      if worked {
        coordinator.noteActivity(1)
        next = now
      } else if let due {
        next = min(next, now.saturatingAdd(max(1, due.microseconds(since: time))))
      }
    }
    return next
  }

  /// The sources' part of a barrier: nothing that they deliver from now on belongs to the epoch.
  private func passBarrier() throws -> Bool {
    let begun = coordinator.begunEpoch
    if begun > epoch {
      epoch = begun
      end = coordinator.end
      if end == .drain { for source in sources { try source.drain() } }
      for source in sources {
        seal.sources[source.name] = source.progress.partitions.map {
          ($0.index, .init(position: $0.position, watermark: $0.watermark.time, isIdle: $0.watermark.isIdle))
        }
      }
      unsealed = regions.count
      awaitsSeal = true
    }
    guard awaitsSeal, mayPass(regions[0]) else { return false }
    awaitsSeal = false
    try sealRegion(0, begun)
    return true
  }

  private func sealRegion(_ region: Int, _ epoch: UInt64) throws {
    seal.parts += try regions[region].seal(epoch)
    // As of the barrier: regions that have passed it go on at once.
    seal.watermarks.merge(regions[region].times.current, uniquingKeysWith: max)
    unsealed -= 1
    if unsealed == 0 {
      coordinator.sealed(seal, epoch: epoch)
      seal = SubtaskSeal()
    }
  }

  private func noteCommit() throws {
    let committed = coordinator.committedEpoch
    guard committed > notified else { return }
    notified = committed
    for region in regions { try region.committed(committed) }
  }

  private func poll(_ now: Int64) throws -> Bool {
    guard end == .goesOn, !sources.isEmpty, mayWork(regions[0]), !regions[0].isFull else { return false }
    for _ in sources.indices {
      let source = sources[turn]
      turn = turn + 1 == sources.count ? 0 : turn + 1
      let count = try source.poll(limit: run.options.batchSize, now: now)
      if count > 0 {
        coordinator.noteActivity(count)
        return true
      }
    }
    return false
  }

  /// Idleness and ends; returns when to look again.
  private func checkTimes(_ now: Int64) throws -> Int64 {
    guard end == .goesOn else { return .max }
    var next = Int64.max
    for source in sources where !source.isEnded {
      let before = source.progress.watermark
      let due = try source.checkIdleness(now: now)
      if source.progress.watermark != before { coordinator.noteActivity(1) }
      if let due { next = min(next, due) }
      next = min(next, now.saturatingAdd(source.idlePollInterval))
    }
    if run.options.mode.isBounded && !saidExhausted && sources.allSatisfy(\.isEnded) {
      saidExhausted = true
      coordinator.exhausted(index)
      next = now
    }
    return next
  }
}
