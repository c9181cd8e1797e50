/// A command line that cannot be understood; ends the program with exit code 64.
struct UsageError: Error, Equatable, CustomStringConvertible {
  /// What is wrong, in one sentence.
  var message: String
  /// The command that it was about, nil before there was one.
  var command: String?

  /// What is wrong, and where to read on.
  var description: String {
    "millrace: \(message)\nRun 'millrace \(command.map { "\($0) " } ?? "")--help' for how it is used."
  }
}
