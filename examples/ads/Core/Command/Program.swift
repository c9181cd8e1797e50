import Millrace

/// Does what the command line asks for.
package struct Program: Sendable {
  /// Takes the answer, for stdout.
  let say: @Sendable (String) -> Void
  /// Takes what a person may want to know meanwhile, for stderr.
  let note: @Sendable (String) -> Void

  package init(say: @escaping @Sendable (String) -> Void, note: @escaping @Sendable (String) -> Void) {
    self.say = say
    self.note = note
  }

  /// Runs the program with the arguments behind its name; returns the exit code: 0, 1 for a failure, 64 for a command
  /// line that is wrong.
  package func run(_ arguments: [String]) async -> Int32 {
    do {
      try await perform(try Request.parse(arguments))
      return 0
    } catch {
      note("ads: \(error)")
      return (error as? AdsError)?.code == .usage ? 64 : 1
    }
  }

  private func perform(_ request: Request) async throws {
    switch request {
    case .help: say(Request.helpText)
    case .run(let options): try await runMonth(options)
    case .feed(let options): try await feed(options)
    case .select(let options): try select(options)
    case .serveLoad(let options): try await serveLoad(options)
    }
  }

  func data(_ options: Options) -> DataSet { options.data.map { DataSet(folder: $0) } ?? .standard() }

  /// `body`'s result and how many seconds it took, with one decimal.
  func timed<Result>(_ body: () async throws -> Result) async rethrows -> (Result, seconds: Double) {
    let clock = ContinuousClock()
    let start = clock.now
    let result = try await body()
    let (seconds, attoseconds) = (clock.now - start).components
    return (result, Double(seconds) + Double(attoseconds) / 1e18)
  }
}

/// `number` with `digits` behind the point.
func rounded(_ number: Double, _ digits: Int = 1) -> String {
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  return "\((number * scale).rounded() / scale)"
}

/// How many a second, as a whole number.
func rate(_ count: Int, _ seconds: Double) -> String { Money.grouped(Int(Double(count) / max(seconds, 1e-6))) }
