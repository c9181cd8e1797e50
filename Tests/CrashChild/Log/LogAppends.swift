import Bytes
import CrashSupport
import EventLog
import Glibc
import Synchronization

/// `log-appends LOG DURABILITY SEED FIRST LAST`: appends the records FIRST…LAST of a `NumberedAppends` to the topic
/// "t", one after another, with the durability `synced`, `interval` or `system`; says `acked N` for each, and `synced
/// N` when the interval has passed, or after a flush, for all up to N.
enum LogAppends {
  static func run(_ arguments: [String]) {
    guard arguments.count == 5, let seed = UInt64(arguments[2]), let first = Int(arguments[3]),
      let last = Int(arguments[4])
    else {
      Child.say("usage: log-appends LOG DURABILITY SEED FIRST LAST")
      exit(64)
    }
    let durability: Durability =
      switch arguments[1] {
      case "interval": .interval(.seconds(60))
      case "system": .system
      default: .synced
      }
    do {
      let delays = StepwiseDelays()
      var options = LogOptions(commitBytes: 20_000)
      options.timer = delays
      let log = try EventLog.open(at: arguments[0], options)
      let topic = try log.topic(
        "t", TopicOptions(partitions: NumberedAppends.partitions, segmentBytes: 1 << 20, durability: durability))
      let workload = NumberedAppends(seed: seed)
      Child.say("opened")
      for number in first...last {
        let record = workload.record(number)
        try topic.appendBlocking(
          key: nil, value: record.value, timestamp: Timestamp(microseconds: Int64(number)),
          partition: record.partition)
        Child.say("acked \(number)")
        switch record.step {
        case .none: break
        case .delay:
          // The writer begins its delay after it has acknowledged.
          while try topic.offsets().map(\.upperBound).reduce(0, +) < Int64(number) {
            delays.pass()
            sched_yield()
          }
          Child.say("synced \(number)")
        case .flush:
          try topic.flushBlocking()
          Child.say("synced \(number)")
        case .maintain: try log.maintainBlocking()
        }
      }
      // Ends as if killed: nothing is closed.
      Child.say("done")
      _exit(0)
    } catch {
      Child.say("error \(error)")
      exit(1)
    }
  }
}

/// Delays that pass when the child says so.
private final class StepwiseDelays: DelayScheduler {
  private let jobs = Mutex<[@Sendable () -> Void]>([])

  func after(nanoseconds: Int, _ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

  func pass() {
    let due = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    for job in due { job() }
  }

  func stop() { pass() }
}
