import Bytes
import Dataflow
import Records

/// What comes in, in order: a record of a key, or a watermark by itself.
struct Step: Record, Hashable {
  var key: String
  var time: Int64
  var isMark: Bool

  static func record(_ time: Int64, _ key: String = "a") -> Step { Step(key: key, time: time, isMark: false) }
  /// No record at or before `time` is expected after this.
  static func watermark(_ time: Int64) -> Step { Step(key: "", time: time, isMark: true) }
}

/// What came out of a window: its bounds, how it fired, and the times of the records in it.
struct Pane: Hashable, Sendable, Comparable, CustomStringConvertible {
  var key = "a"
  var start: Int64
  var end: Int64
  var kind: WindowFiring.Kind = .onTime
  var times: [Int64]

  init(_ key: String, _ start: Int64, _ end: Int64, _ kind: WindowFiring.Kind, _ times: [Int64]) {
    self.key = key
    self.start = start
    self.end = end
    self.kind = kind
    self.times = times
  }

  init(_ start: Int64, _ end: Int64, _ times: [Int64]) { self.init("a", start, end, .onTime, times) }
  init(_ start: Int64, _ end: Int64, _ kind: WindowFiring.Kind, _ times: [Int64]) {
    self.init("a", start, end, kind, times)
  }
  init(_ key: String, _ start: Int64, _ end: Int64, _ times: [Int64]) { self.init(key, start, end, .onTime, times) }

  init(_ key: String, _ firing: WindowFiring, _ times: [Int64]) {
    self.init(key, firing.start.microseconds, firing.end.microseconds, firing.kind, times)
  }

  var description: String { "\(key)[\(start),\(end)) \(kind) \(times)" }
  private var order: String { "\(key) \(start) \(end) \(kind) \(times)" }
  static func < (left: Pane, right: Pane) -> Bool { left.order < right.order }
}

typealias WindowResults = (results: Dataflow.Stream<Pane>, late: Dataflow.Stream<Step>)

/// A job over steps in a store of its own.
struct StepJob {
  let source: MemorySource<Step>
  let results = CollectSink<Pane>("results")
  let late = CollectSink<Step>("late")
  let job: Job

  init(partitions: Int = 1, _ windows: @escaping (KeyedStream<Step>) -> WindowResults) throws {
    let source = MemorySource<Step>("steps", partitions: partitions)
    let (results, late) = (results, late)
    self.source = source
    job = try Job("job") { flow in
      let steps = flow.from(
        source, watermarks: .punctuated { step, _ in step.isMark ? .at(step.time) : nil })
      let found = windows(steps.filter { !$0.isMark }.keyed(by: \.key))
      found.results.sink(results)
      found.late.sink(late)
    }
  }

  func append(_ steps: [Step], partition: Int = 0) {
    for step in steps { source.append(step, at: .at(step.time), partition: partition) }
  }
}

/// Runs `steps`, one batch each, without an end of all time behind them.
func run(
  _ steps: [Step], options: RunOptions = RunOptions(mode: .toEnd, batchSize: 1),
  _ windows: @escaping (KeyedStream<Step>) -> WindowResults
) throws -> (panes: [Pane], late: [Int64]) {
  let store = try TestStore()
  let test = try StepJob(windows)
  test.append(steps)
  try JobRunner(test.job, checkpoints: store.checkpoints, options: options).runBlocking()
  return (test.results.committed, test.late.committed.map(\.time))
}

extension WindowedStream where Element == Step, Shape: SeparateWindowShape {
  /// The times of each window's records.
  func times(_ name: String = "windows") -> WindowResults {
    aggregateWithLate(
      name, initial: [Int64](), { $0.append($1.time) },
      result: { (key: String, window, times) in Pane(key, window, times.sorted()) })
  }
}

extension WindowedStream where Element == Step, Shape: MergingWindowShape {
  /// The times of each window's records.
  func times(_ name: String = "windows") -> WindowResults {
    aggregateWithLate(
      name, initial: [Int64](), { $0.append($1.time) }, merge: { $0 += $1 },
      result: { (key: String, window, times) in Pane(key, window, times.sorted()) })
  }
}

extension WindowedStream where Element == Step {
  /// The same, from the records themselves.
  func listed(_ name: String = "windows") -> WindowResults {
    contentsWithLate(name) { (key: String, window, steps) in Pane(key, window, steps.map(\.time).sorted()) }
  }
}
