package import Millrace

/// Something with a time and a fixed order among things of the same time.
package protocol Timed: Sendable {
  var at: Timestamp { get }
  /// Whether `self` goes before `other`, which has the same time. Total, so that a replay orders as the first run did.
  func goesBefore(_ other: Self) -> Bool
}

/// Holds what arrives for one key until event time has passed it, and then gives it back in the order of time.
///
/// Topics are read side by side: a purchase can arrive before the campaign event that concerns it, though it happened
/// later. Once the watermark has passed a time, everything up to it has arrived.
package struct HeldEvents<Element: Timed & Codable>: Codable, Sendable {
  package private(set) var waiting: [Element] = []

  package init() {}

  package mutating func hold(_ element: Element) { waiting.append(element) }

  /// Takes out everything with a time up to `watermark`, in order.
  package mutating func release(upTo watermark: Timestamp) -> [Element] {
    var due: [Element] = []
    var rest: [Element] = []
    for element in waiting {
      if element.at <= watermark { due.append(element) } else { rest.append(element) }
    }
    waiting = rest
    due.sort { $0.at != $1.at ? $0.at < $1.at : $0.goesBefore($1) }
    return due
  }
}
