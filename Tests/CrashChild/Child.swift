import Glibc

/// What every subcommand uses to talk to its parent.
enum Child {
  /// One line on the standard output, in one unbuffered write (a recorder sees it as one mark).
  static func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(1, bytes, bytes.count)
  }
}
