public import Bytes

/// Event time as one operator on one subtask has it; goes into the checkpoint under the operator's name.
public final class OperatorTime {
  /// Never falls. Records at or before it are late.
  public internal(set) var current: Timestamp

  init(_ start: Timestamp) { current = start }

  /// Takes over a watermark; returns whether time moved.
  public func advance(to watermark: Watermark) -> Bool {
    guard watermark.time > current else { return false }
    current = watermark.time
    return true
  }
}

/// The event times of a subtask's operators, by name.
final class OperatorTimes {
  private var times: [String: OperatorTime] = [:]

  func time(of name: String, from start: Timestamp) -> OperatorTime {
    if let known = times[name] { return known }
    let time = OperatorTime(start)
    times[name] = time
    return time
  }

  var current: [String: Timestamp] { times.mapValues(\.current) }
}
