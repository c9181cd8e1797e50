import CrashSupport
import EventLog
import Glibc

/// `log DIRECTORY SEED LIFE OPERATIONS [NEXT…]`: a `LogLife`; NEXT: where the idempotent producers go on. The exit code
/// is 1 after a line `error CODE TEXT`.
enum LogChild {
  static func run(_ arguments: [String]) async {
    let numbers = arguments.dropFirst().compactMap { Int($0) }
    guard numbers.count >= 3, numbers.count == arguments.count - 1 else {
      Child.say("usage: log DIRECTORY SEED LIFE OPERATIONS [NEXT…]")
      exit(64)
    }
    do {
      let log = try EventLog.open(at: arguments[0], LogOptions(maximumPendingBytes: 1 << 20))
      let life = LogLife(
        log, LogWorkload(seed: UInt64(numbers[0])), life: numbers[1], operations: numbers[2],
        nextNumbers: Array(numbers[3...]))
      try await life.run()
      log.close()
      Child.say("done")
    } catch {
      Child.say("error \((error as? EventLogError).map { "\($0.code)" } ?? "untyped") \(error)")
      exit(1)
    }
  }
}
