/// What the command tells the shell.
enum ExitCode {
  static let success: Int32 = 0
  /// The store could not be read, or something in it is damaged.
  static let failure: Int32 = 1
  /// The command line is wrong (EX_USAGE of sysexits.h).
  static let usage: Int32 = 64
}
