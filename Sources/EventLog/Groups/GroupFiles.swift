import Glibc

/// The files of consumer groups, in the folder `groups` of the log's directory:
///
///     <group>.mdb, <group>.mdb-lock       committed offsets
///     <group>.lock                        locked by the process that holds the group; its number as text
///
/// A topic may be called `groups`, too: no group has a segment's name, and only segments' names are looked at there.
enum GroupFiles {
  static func folder(of log: String) -> String { log + "/groups" }
  static func path(_ group: String, in log: String) -> String { folder(of: log) + "/" + group + ".mdb" }
  static func lockPath(_ group: String, in log: String) -> String { folder(of: log) + "/" + group + ".lock" }

  /// The names of the groups that have committed anything, sorted.
  static func names(in log: String) -> [String] {
    LogFiles.names(in: folder(of: log))
      .filter { $0.hasSuffix(".mdb") && LogFiles.segmentNumber($0) == nil }
      .map { String($0.dropLast(4)) }
      .filter(isValid).sorted()
  }

  static func validate(_ group: String) throws(EventLogError) {
    if isValid(group) { return }
    throw EventLogError(
      .invalidGroup,
      "a group's name has 1 to 200 of the characters A–Z, a–z, 0–9, '.', '_', '-', does not begin with a dot and is "
        + "not a number of 20 digits; \"\(group)\" is none")
  }

  private static func isValid(_ group: String) -> Bool {
    let bytes = group.utf8
    return (1...200).contains(bytes.count) && bytes.first != 0x2E && bytes.allSatisfy(isAllowed)
      && !(bytes.count == 20 && bytes.allSatisfy { (0x30...0x39).contains($0) })
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x5F, 0x2D: true
    default: false
    }
  }
}
