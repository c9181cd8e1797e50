import Glibc

/// Where a command writes to and what it knows of its surroundings; replaced in tests. Used by one thread.
final class Console {
  /// Whoever read standard output has gone: there is nothing more to do.
  struct OutputClosed: Error {}

  /// Standard output cannot be written.
  struct OutputFailed: Error, CustomStringConvertible {
    var reason: String
    var description: String { "standard output cannot be written: \(reason)" }
  }

  private static let bufferBytes = 64 << 10

  /// Whether a person watches standard error, so that progress is shown.
  let isErrorTerminal: Bool
  /// Columns of the terminal on standard output, nil if it is none.
  let width: Int?
  /// Monotonic milliseconds.
  let now: () -> Int
  /// Microseconds since 1970.
  let time: () -> Int64
  /// Asked between two looks of a command that waits: whether it shall end.
  let isStopped: () -> Bool
  private let writeOutput: ([UInt8]) throws -> Void
  private let writeError: (String) -> Void
  private var buffer: [UInt8] = []

  init(
    isErrorTerminal: Bool = false, width: Int? = nil, now: @escaping () -> Int = { 0 },
    time: @escaping () -> Int64 = { 0 }, isStopped: @escaping () -> Bool = { false },
    output: @escaping ([UInt8]) throws -> Void, error: @escaping (String) -> Void
  ) {
    self.isErrorTerminal = isErrorTerminal
    self.width = width
    self.now = now
    self.time = time
    self.isStopped = isStopped
    writeOutput = output
    writeError = error
  }

  /// A line of data.
  func line(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Self.bufferBytes { try flush() }
  }

  /// Hands on what has been written.
  func flush() throws {
    if buffer.isEmpty { return }
    defer { buffer.removeAll(keepingCapacity: true) }
    try writeOutput(buffer)
  }

  /// A line for the person, apart from the data.
  func note(_ text: String) { writeError(text + "\n") }

  /// Shows how far long work is while a person watches.
  func progress(_ title: String, total: Int?) -> Progress {
    Progress(title, total: total, isShown: isErrorTerminal, now: now, write: writeError)
  }
}

extension Console {
  /// The process's own streams.
  static func standard() -> Console {
    Console(
      isErrorTerminal: Terminal.isTerminal(STDERR_FILENO), width: Terminal.width,
      now: { milliseconds(CLOCK_MONOTONIC) }, time: { microseconds(CLOCK_REALTIME) },
      output: { try write($0) }, error: { text in try? write(Array(text.utf8), to: STDERR_FILENO) })
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) throws {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno == EPIPE {
        throw OutputClosed()
      } else if errno != EINTR {
        throw OutputFailed(reason: unsafe String(cString: strerror(errno)))
      }
    }
  }

  private static func milliseconds(_ clock: clockid_t) -> Int { Int(microseconds(clock) / 1000) }

  private static func microseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}
