import Bytes
import Dataflow

/// Windows as plainly as they can be written: every window of every key looked at for every step. Slow, and right.
struct WindowModel {
  enum Shape {
    case tumbling(size: Int64, offset: Int64)
    case sliding(size: Int64, slide: Int64, offset: Int64)
    case cumulative(size: Int64, step: Int64)
    case session(gap: Int64)
    case count(Int)
  }

  private struct Entry {
    var key: String
    var start: Int64
    /// Exclusive; nil: none.
    var end: Int64?
    var times: [Int64] = []
    var hasFired = false
    var sinceFiring = 0

    func isOver(at watermark: Int64) -> Bool { end.map { $0 - 1 <= watermark } ?? false }
  }

  let shape: Shape
  var lateness: Int64 = 0
  var isPurging = false
  var count: Int?
  private var watermark = Int64.min
  private var entries: [Entry] = []
  private var goneSessions: [String: Int64] = [:]
  private(set) var panes: [Pane] = []
  private(set) var late: [Int64] = []

  init(_ shape: Shape, lateness: Int64 = 0, isPurging: Bool = false, count: Int? = nil) {
    self.shape = shape
    self.lateness = lateness
    self.isPurging = isPurging
    self.count = count
    if case .count(let number) = shape {
      self.count = number
      self.isPurging = true
    }
  }

  mutating func take(_ step: Step) {
    if step.isMark { advance(to: step.time) } else { add(step) }
  }

  private mutating func add(_ step: Step) {
    if case .session(let gap) = shape { return addToSession(step, gap) }
    var isOnTime = false
    for (start, end) in windows(of: step.time) {
      if let end, watermark > .min, end - 1 + lateness <= watermark { continue }
      isOnTime = true
      let index =
        entries.firstIndex { $0.key == step.key && $0.start == start && $0.end == end }
        ?? {
          // One that begins after its end has no firing on time.
          var entry = Entry(key: step.key, start: start, end: end)
          entry.hasFired = entry.isOver(at: watermark)
          entries.append(entry)
          return entries.count - 1
        }()
      entries[index].times.append(step.time)
      afterRecord(index)
    }
    if !isOnTime { late.append(step.time) }
  }

  private mutating func afterRecord(_ index: Int) {
    if entries[index].isOver(at: watermark) { return fire(index, .late) }
    guard let count else { return }
    entries[index].sinceFiring += 1
    if entries[index].sinceFiring >= count {
      entries[index].sinceFiring = 0
      fire(index, .early)
    }
  }

  private mutating func fire(_ index: Int, _ kind: WindowFiring.Kind) {
    let entry = entries[index]
    if entry.times.isEmpty { return }
    panes.append(
      Pane(entry.key, entry.start, entry.end ?? .max, kind, entry.times.sorted()))
    if isPurging { entries[index].times = [] }
  }

  mutating func advance(to time: Int64) {
    guard time > watermark else { return }
    watermark = time
    for index in entries.indices where !entries[index].hasFired {
      if entries[index].isOver(at: watermark) || watermark == .max {
        entries[index].hasFired = true
        fire(index, .onTime)
      }
    }
    let gone = entries.filter { $0.end.map { watermark == .max || $0 - 1 + lateness <= watermark } ?? false }
    if case .session = shape {
      for entry in gone { goneSessions[entry.key] = max(goneSessions[entry.key] ?? .min, entry.end ?? .min) }
    }
    entries.removeAll { $0.end.map { watermark == .max || $0 - 1 + lateness <= watermark } ?? false }
  }

  private mutating func addToSession(_ step: Step, _ gap: Int64) {
    let end = step.time + gap
    if watermark > .min, end - 1 + lateness <= watermark { return late.append(step.time) }
    if let gone = goneSessions[step.key], step.time < gone { return late.append(step.time) }
    var merged = Entry(key: step.key, start: step.time, end: end)
    let touched = entries.filter { $0.key == step.key && $0.start < end && step.time < ($0.end ?? 0) }
    entries.removeAll { $0.key == step.key && $0.start < end && step.time < ($0.end ?? 0) }
    for session in touched {
      merged.start = min(merged.start, session.start)
      merged.end = max(merged.end ?? 0, session.end ?? 0)
      merged.times += session.times
      merged.sinceFiring += session.sinceFiring
    }
    merged.times.append(step.time)
    merged.hasFired = merged.isOver(at: watermark)
    entries.append(merged)
    afterRecord(entries.count - 1)
  }

  private func windows(of time: Int64) -> [(start: Int64, end: Int64?)] {
    func floor(_ value: Int64, _ size: Int64) -> Int64 { Int64((Double(value) / Double(size)).rounded(.down)) * size }
    switch shape {
    case .tumbling(let size, let offset):
      let start = floor(time - offset, size) + offset
      return [(start, start + size)]
    case .sliding(let size, let slide, let offset):
      return (-200..<1000).map { $0 * slide + offset }.filter { $0 <= time && time < $0 + size }
        .map { ($0, $0 + size) }
    case .cumulative(let size, let step):
      let start = floor(time, size)
      return stride(from: step, through: size, by: Int(step)).map { start + $0 }.filter { $0 > time }
        .map { (start, $0) }
    case .session: return []
    case .count: return [(.min, nil)]
    }
  }
}

extension WindowModel {
  /// The same windows of a stream.
  func apply(to keyed: KeyedStream<Step>, isListed: Bool) -> WindowResults {
    switch shape {
    case .tumbling(let size, let offset):
      let windows = configured(keyed.window(.tumbling(.units(size), offset: .units(offset))))
      return isListed ? windows.listed() : windows.times()
    case .sliding(let size, let slide, let offset):
      let windows = configured(keyed.window(.sliding(.units(size), every: .units(slide), offset: .units(offset))))
      return isListed ? windows.listed() : windows.times()
    case .cumulative(let size, let step):
      let windows = configured(keyed.window(.cumulative(.units(size), every: .units(step))))
      return isListed ? windows.listed() : windows.times()
    case .session(let gap):
      let windows = configured(keyed.window(.session(gap: .units(gap))))
      return isListed ? windows.listed() : windows.times()
    case .count(let count):
      let windows = keyed.window(.count(count))
      return isListed ? windows.listed() : windows.times()
    }
  }

  private func configured<S: WindowShape>(
    _ windows: WindowedStream<Step, S, StandardTrigger<Step>>
  ) -> WindowedStream<Step, S, StandardTrigger<Step>> {
    var windows = windows.allowingLateness(.units(lateness))
    if isPurging { windows = windows.purging() }
    if let count { windows = windows.firing(onCount: count) }
    return windows
  }
}
