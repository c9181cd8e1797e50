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

  /// Standard input cannot be read.
  struct InputFailed: Error, CustomStringConvertible {
    var reason: String
    var description: String { "standard input cannot be read: \(reason)" }
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
  /// The next bytes of standard input, waiting for some; none at its end, or when the command is interrupted.
  let input: () throws -> [UInt8]
  /// Whether `input` would not have to wait.
  let isInputReady: () -> Bool
  /// From now on an interrupt is a wish to end in good order: `isStopped` tells.
  let catchInterrupts: () -> Void
  private let writeOutput: ([UInt8]) throws -> Void
  private let writeError: (String) -> Void
  private var buffer: [UInt8] = []

  init(
    isErrorTerminal: Bool = false, width: Int? = nil, now: @escaping () -> Int = { 0 },
    time: @escaping () -> Int64 = { 0 }, isStopped: @escaping () -> Bool = { false },
    input: @escaping () throws -> [UInt8] = { [] }, isInputReady: @escaping () -> Bool = { true },
    catchInterrupts: @escaping () -> Void = {},
    output: @escaping ([UInt8]) throws -> Void, error: @escaping (String) -> Void
  ) {
    self.isErrorTerminal = isErrorTerminal
    self.width = width
    self.now = now
    self.time = time
    self.isStopped = isStopped
    self.input = input
    self.isInputReady = isInputReady
    self.catchInterrupts = catchInterrupts
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
      isStopped: { Interrupts.hasCome }, input: { try read() }, isInputReady: { isReady(STDIN_FILENO) },
      catchInterrupts: { Interrupts.catchNext() },
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

  private static func read() throws -> [UInt8] {
    while true {
      if Interrupts.hasCome { return [] }
      var failure: Int32 = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: bufferBytes) { buffer, count in
        let read = unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, bufferBytes)
        failure = read < 0 ? errno : 0
        count = max(0, read)
      }
      if failure == 0 { return bytes }
      if failure != EINTR { throw InputFailed(reason: unsafe String(cString: strerror(failure))) }
    }
  }

  private static func isReady(_ descriptor: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&wanted, 1, 0) > 0
  }

  private static func milliseconds(_ clock: clockid_t) -> Int { Int(microseconds(clock) / 1000) }

  private static func microseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}
