import CrashSupport

/// A child with an environment of its own, spoken to line by line: see Tests/CrashChild/LMDBShell.swift.
struct LMDBShell {
  let process: ChildProcess

  init(environment: [String: String] = [:]) throws {
    process = try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"), ["lmdb"], environment: environment)
  }

  /// The answer to a command; "gone" if the child is.
  @discardableResult
  func callAsFunction(_ command: String) -> String { process.ask(command) ?? "gone" }

  /// The word that names the error in the answer to a command, nil if it was none.
  func errorCode(_ command: String) -> String? {
    let answer = self(command)
    return answer.hasPrefix("error ") ? answer.split(separator: " ").dropFirst().first.map(String.init) : nil
  }
}
