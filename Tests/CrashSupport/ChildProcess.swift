import Foundation
public import Glibc
import Synchronization

/// A child process with pipes to its standard input and output, for tests that kill it.
///
/// Used by one thread. A child that is still there at the end is killed.
public final class ChildProcess {
  /// How a process ended.
  public enum Ending: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  public struct StartFailure: Error {
    public var path: String
    public var errorNumber: Int32
  }

  public let processID: pid_t
  private let input: Int32
  private let output: Int32
  private var buffer: [UInt8] = []
  private var ending: Ending?

  /// Starts `executable`; `environment` is added to this process's own. Its standard error is this process's.
  public init(_ executable: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
    // Writing to a child that has gone must be an error, not the end of the tests.
    signal(SIGPIPE, SIG_IGN)
    // One start at a time: no other child may inherit these pipes before they are marked, or their end is never seen.
    let (identifier, input, output) = try Self.starting.withLock { _ in
      try Self.start(executable, arguments, environment)
    }
    processID = identifier
    self.input = input
    self.output = output
  }

  private static let starting = Mutex(())

  private static func start(
    _ executable: String, _ arguments: [String], _ environment: [String: String]
  ) throws -> (pid_t, input: Int32, output: Int32) {
    var toChild: [Int32] = [-1, -1]
    var fromChild: [Int32] = [-1, -1]
    guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else {
      throw StartFailure(path: executable, errorNumber: errno)
    }
    for descriptor in toChild + fromChild { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    defer {
      close(toChild[0])
      close(fromChild[1])
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    let merged = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    var argumentList = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables = merged.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in argumentList + variables { free(text) } }
    var identifier = pid_t()
    let code = posix_spawn(&identifier, executable, &actions, nil, &argumentList, &variables)
    if code != 0 {
      close(toChild[1])
      close(fromChild[0])
      throw StartFailure(path: executable, errorNumber: code)
    }
    return (identifier, toChild[1], fromChild[0])
  }

  deinit {
    if ending == nil {
      kill()
      wait()
    }
  }

  /// The next line of its standard output without its end, nil when there is none any more. Waits for it.
  public func readLine() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: buffer[..<end], as: UTF8.self)
        buffer.removeSubrange(...end)
        return line
      }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = read(output, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return nil }
      buffer.append(contentsOf: chunk[..<count])
    }
  }

  /// What `nextLine` found.
  public enum NextLine: Equatable, Sendable {
    case line(String)
    /// The child closed its output.
    case ended
    case timedOut
  }

  /// As `readLine`, waiting until `deadline` at most.
  public func nextLine(before deadline: ContinuousClock.Instant) -> NextLine {
    while !buffer.contains(UInt8(ascii: "\n")) {
      let (seconds, attoseconds) = (deadline - ContinuousClock.now).components
      if seconds < 0 || attoseconds < 0 { return .timedOut }
      let milliseconds = min(seconds, 1000) * 1000 + attoseconds / 1_000_000_000_000_000 + 1
      var descriptor = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      let ready = poll(&descriptor, 1, Int32(milliseconds))
      if ready <= 0 { continue }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = read(output, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return .ended }
      buffer.append(contentsOf: chunk[..<count])
    }
    return readLine().map { .line($0) } ?? .ended
  }

  /// Every line until it closes its output.
  public func remainingLines() -> [String] {
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    return lines
  }

  /// Writes `line` to its standard input and waits for one line of answer.
  public func ask(_ line: String) -> String? {
    send(line)
    return readLine()
  }

  public func send(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(input, bytes, bytes.count)
  }

  /// Sends SIGKILL.
  public func kill() { send(signal: SIGKILL) }

  /// Sends `signal`, as SIGSTOP.
  public func send(signal: Int32) { _ = Glibc.kill(processID, signal) }

  /// Waits for its end.
  @discardableResult
  public func wait() -> Ending {
    if let ending { return ending }
    close(input)
    var status: Int32 = 0
    while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
    close(output)
    let signal = status & 0x7f
    let ending: Ending = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal)
    self.ending = ending
    return ending
  }

  /// The executable `name` of this package, built beside the running tests.
  public static func builtExecutable(_ name: String) throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let path = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
    guard access(path, X_OK) == 0 else { throw StartFailure(path: path, errorNumber: errno) }
    return path
  }
}
