import Bytes

/// When an append to a topic is acknowledged.
///
/// With every setting records are acknowledged in order, what is lost is the end and never something before it, and
/// readers see only what has been synced.
public enum Durability: Hashable, Sendable {
  /// After the sync: neither a crash of the process nor one of the machine loses what was acknowledged.
  case synced
  /// When the operating system has it: a crash of the process loses nothing; a crash of the machine loses at most what
  /// was acknowledged within the interval (1 ms to 1 hour) and the sync after it.
  case interval(Duration)
  /// When the operating system has it, which decides when it reaches the disk: a crash of the process loses nothing, a
  /// crash of the machine may lose what was acknowledged last.
  case system

  /// How long acknowledged records wait for their sync at most; nil where they do not.
  var syncInterval: Duration? {
    switch self {
    case .synced: nil
    case .interval(let interval): interval
    case .system: .seconds(1)
    }
  }

  /// As in the catalogue: −1 synced, 0 system, else the interval in µs.
  var encoded: Int64 {
    switch self {
    case .synced: -1
    case .system: 0
    case .interval(let interval): max(1, interval.wholeMicroseconds)
    }
  }

  init(encoded: Int64) {
    switch encoded {
    case ..<0: self = .synced
    case 0: self = .system
    default: self = .interval(.microseconds(encoded))
    }
  }

  var isValid: Bool {
    guard case .interval(let interval) = self else { return true }
    return interval >= .milliseconds(1) && interval <= .seconds(3600)
  }
}
