import Glibc
import Millrace

/// The command `millrace`: does what its arguments ask for and returns the exit code.
struct MillraceCommand {
  static let version = "0.1.0"
  let console: Console

  func run(_ arguments: [String]) -> Int32 {
    do {
      let code = try perform(try Invocation(arguments: arguments))
      try console.flush()
      return code
    } catch is Console.OutputClosed {
      return ExitCode.success
    } catch let error as UsageError {
      try? console.flush()
      console.note("\(error)")
      return ExitCode.usage
    } catch {
      try? console.flush()
      console.note("millrace: \(ErrorText.of(error))")
      return ExitCode.failure
    }
  }

  private func perform(_ invocation: Invocation) throws -> Int32 {
    switch invocation {
    case .help(let text): try console.line(text)
    case .version: try console.line("millrace \(Self.version)")
    case .inspect(let store, let format):
      return try InspectCommand(console: console).run(try open(store), format)
    case .tail(let path, let topic, let options, let format):
      let place = try LogPlace.open(path, .reading)
      return try TailCommand(console: console, options: options, format: format).run(place, topic)
    case .query(let store, let view, let options, let format):
      return try QueryCommand(console: console, options: options, format: format).run(try open(store), view)
    case .verify(let store, let format):
      return try VerifyCommand(console: console).run(store, format) { try open(store) }
    case .backup(let store, let target):
      return try BackupCommand(console: console).run(try open(store), target)
    case .topics(let path, let action, let format):
      return try TopicsCommand(console: console, format: format).run(path, action)
    case .groups(let path, let action, let format):
      return try GroupsCommand(console: console, format: format).run(try LogPlace.open(path, .reading), action)
    case .append(let path, let topic, let options, let format):
      let place = try LogPlace.open(path, .writing)
      return try AppendCommand(console: console, options: options, format: format).run(place, topic)
    case .export(let path, let topic, let options):
      return try ExportCommand(console: console, options: options).run(try LogPlace.open(path, .reading), topic)
    }
    return ExitCode.success
  }

  /// Opens the store for reading, beside whoever writes it. Damage is reported by those who meet it.
  private func open(_ path: String) throws -> Store {
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      throw StoreError(.notAStore, path: path, detail: "this is a file; a store is a folder, give its path")
    }
    var options = Store.Options(access: .readOnly)
    options.log.damage = .report
    return try Store.open(at: path, options)
  }
}

/// Errors in one line: what, where, what to do.
enum ErrorText {
  static func of(_ error: any Error) -> String {
    switch error {
    case let error as WriterBusy: "\(error)"
    case let error as StoreError: "\(error.path): \(error.detail)\(error.cause.map { " (\($0))" } ?? "")"
    default: "\(error)"
    }
  }
}
