import Foundation

/// `millrace-bench list` and `millrace-bench run SCENARIO… [--json] [--size N] [--repeat N] [--folder PATH] [--set
/// name=value]`.
@main
struct BenchMain {
  static func main() async {
    do {
      if try await performAsChild(CommandLine.arguments) { return }
      let command = try BenchCommand(arguments: Array(CommandLine.arguments.dropFirst()))
      try await perform(command)
    } catch let error as BenchCommand.UsageError {
      FileHandle.standardError.write(Data("millrace-bench: \(error.message)\n\(BenchCommand.usage)\n".utf8))
      exit(64)
    } catch {
      FileHandle.standardError.write(Data("millrace-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  /// Some scenarios start this program again as another process of theirs.
  private static func performAsChild(_ arguments: [String]) async throws -> Bool {
    guard arguments.count == 4, let count = Int(arguments[3]) else { return false }
    switch arguments[1] {
    case RecoveryScenario.victimCommand: try await RecoveryScenario.victim(arguments[2], keys: count)
    case TailElsewhere.readerCommand: try TailElsewhere.read(arguments[2], count: count)
    default: return false
    }
    return true
  }

  private static func perform(_ command: BenchCommand) async throws {
    switch command {
    case .help: print(BenchCommand.usage)
    case .list:
      for scenario in Scenarios.all {
        print(scenario.name.padding(toLength: 20, withPad: " ", startingAt: 0), scenario.summary)
      }
    case .run(let names, let options):
      for name in names {
        guard let scenario = Scenarios.all.first(where: { $0.name == name }) else {
          throw BenchCommand.UsageError(message: "no scenario \(name); see `millrace-bench list`")
        }
        for _ in 0..<options.repetitions { try await run(scenario, options) }
      }
    }
  }

  private static func run(_ scenario: Scenario, _ options: BenchCommand.RunOptions) async throws {
    let temporary = FileManager.default.temporaryDirectory.appendingPathComponent("millrace-bench-\(UUID().uuidString)")
    let folder = options.folder.map { URL(fileURLWithPath: $0) } ?? temporary
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: temporary) }
    let measurement = try await scenario.run(
      Scenario.Options(
        size: options.size ?? scenario.defaultSize, settings: options.settings, folder: folder.path))
    print(options.isJSON ? measurement.json : measurement.text)
  }
}
