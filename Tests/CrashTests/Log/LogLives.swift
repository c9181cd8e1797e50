import Bytes
import CrashSupport
import EventLog
import Foundation
import Testing

@testable import CrashChild

/// Starts the child `log`, life after life, on one directory, and keeps everything that it says.
final class LogLives {
  let directory: String
  let workload: LogWorkload
  var operations = 600
  private(set) var history = LogHistory()
  private(set) var lives = 0

  init(directory: String, seed: UInt64) {
    self.directory = directory
    workload = LogWorkload(seed: seed)
  }

  /// What the next life begins with.
  func start(environment: [String: String] = [:]) throws -> ChildProcess {
    lives += 1
    return try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"),
      ["log", directory, "\(workload.seed)", "\(lives)", "\(operations)"]
        + (1...3).map { String(history.nextNumber(of: $0)) },
      environment: environment)
  }

  func add(_ lines: [String]) { history.add(lines, life: lives) }

  /// What another process read; behind all that was said before, as far as order goes.
  func addReader(_ lines: [String], _ number: Int) { history.add(lines, life: -1 - number) }

  /// How many rounds a test does: `MILLRACE_LOG_ROUNDS`, or few.
  static func rounds(_ usual: Int) -> Int {
    ProcessInfo.processInfo.environment["MILLRACE_LOG_ROUNDS"].flatMap(Int.init) ?? usual
  }

  /// A whole undisturbed life.
  func runUndisturbed(environment: [String: String] = [:]) throws {
    let child = try start(environment: environment)
    let lines = child.remainingLines()
    add(lines)
    #expect(child.wait() == .exited(0), "\(lines.last ?? "")")
    #expect(lines.last == "done")
  }

  /// Opens what is there and compares it with the history.
  @discardableResult
  func expectSound(_ comment: Comment, at path: String? = nil, history: LogHistory? = nil, afterPowerLoss: Bool = false)
    throws -> LogContents
  {
    let log = try EventLog.open(at: path ?? directory)
    defer { log.close() }
    let contents = try LogContents(log, workload)
    let violations = LogChecker.check(workload, history ?? self.history, contents, afterPowerLoss: afterPowerLoss)
    #expect(violations.isEmpty, "\(comment): \(violations.prefix(8))")
    let verification = try log.verify()
    #expect(verification.isSound, "\(comment): \(verification.damages.prefix(8))")
    return contents
  }
}
