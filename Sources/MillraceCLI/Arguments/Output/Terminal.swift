import Glibc

/// What the command's standard streams are connected to.
enum Terminal {
  /// Whether a person sees what is written to `descriptor`.
  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Columns of the terminal on standard output, nil if it is none.
  static var width: Int? {
    guard isTerminal(STDOUT_FILENO) else { return nil }
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}
