import Bytes
import CrashSupport
import EventLog
import Synchronization

/// One life of a program that uses a log from all sides at once: producers of every kind, rolls, retention, compaction,
/// readers. Says everything that it begins and is told.
final class LogLife: Sendable {
  let log: EventLog
  let workload: LogWorkload
  let life: Int
  /// How many operations are begun in all.
  let operations: Int
  /// Where the idempotent producers 1, 2, … go on.
  let nextNumbers: [Int]
  private let begun = Atomic<Int>(0)
  private let numbers = Atomic<Int>(0)
  /// The error after which nothing can go on.
  private let failure = Mutex<(any Error)?>(nil)

  init(_ log: EventLog, _ workload: LogWorkload, life: Int, operations: Int, nextNumbers: [Int]) {
    self.log = log
    self.workload = workload
    self.life = life
    self.operations = operations
    self.nextNumbers = nextNumbers
  }

  /// Works until all operations were done; throws what made that impossible.
  func run() async throws {
    var topics: [(LogWorkload.Topic, LogTopic)] = []
    for topic in LogWorkload.topics { topics.append((topic, try log.topic(topic.name, topic.options))) }
    let opened = topics
    Child.say("opened")
    await withTaskGroup(of: Void.self) { group in
      let background = [
        Task { await self.maintain(opened) }, Task { await self.read(opened[0], "a") },
        Task { await self.read(opened[1], "b") }, Task { await self.read(opened[3], "c") },
      ]
      for index in 0..<6 { group.addTask { await self.appendAwaited(self.producer(index), opened) } }
      for index in 0..<2 { group.addTask { await self.appendGroups(self.producer(10 + index), opened) } }
      for (index, topic) in opened.enumerated() {
        group.addTask { await self.enqueue(self.producer(20 + index), topic) }
      }
      for (index, number) in nextNumbers.enumerated() {
        group.addTask { await self.appendIdempotent(index + 1, number, opened[index % 2]) }
      }
      await group.waitForAll()
      for task in background { task.cancel() }
      for task in background { await task.value }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// A producer of this life only.
  private func producer(_ index: Int) -> Int { life * 100 + 50 + index }

  func generator(_ producer: Int) -> SeededRandom {
    SeededRandom(seed: workload.seed &+ UInt64(producer) &* 77_777 &+ UInt64(life))
  }

  /// Whether one more operation may begin.
  var goesOn: Bool {
    failure.withLock { $0 == nil } && begun.add(1, ordering: .relaxed).newValue <= operations
  }

  var isFailed: Bool { failure.withLock { $0 != nil } }

  func begin(
    _ kind: LogHistory.Kind, _ topic: LogWorkload.Topic, _ producer: Int, _ first: Int, _ count: Int
  ) -> Int {
    let number = numbers.add(1, ordering: .relaxed).newValue
    Child.say("i \(number) \(kind.rawValue) \(topic.name) \(producer) \(first) \(count)")
    return number
  }

  func acknowledge(_ number: Int, _ positions: [LogPosition] = []) {
    Child.say(
      "a \(number)" + positions.map { " \($0.partition):\($0.offset)" }.joined())
  }

  /// Says that an operation failed. What may succeed later goes on; else this life ends.
  func fail(_ number: Int, _ error: any Error) {
    guard let error = error as? EventLogError else {
      Child.say("x \(number) unknown untyped")
      return failure.withLock { $0 = $0 ?? error }
    }
    Child.say("x \(number) \(error.isRetriable ? "definite" : "unknown") \(error.code)")
    if !error.isRetriable { failure.withLock { $0 = $0 ?? error } }
  }

  /// What goes wrong beside the producers must be explained, too.
  func note(_ error: any Error) {
    if let error = error as? EventLogError, error.isRetriable { return Child.say("retriable \(error.code)") }
    failure.withLock { $0 = $0 ?? error }
  }
}
