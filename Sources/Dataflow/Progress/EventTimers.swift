public import Bytes

/// The event-time timers of one operator on one subtask: which key waits for which time, once each; sealed like any
/// state.
@usableFromInline
final class EventTimers {
  /// A value per time and key, the time in front: present while the timer waits.
  @usableFromInline let state: KeyedState<UInt8>
  private let index: DueIndex
  private let counters: OperatorCounters
  /// The requests gathered since `apply`: key and time, and whether set or deleted.
  private var requested = KeyColumn()
  private var requests: [(time: Int64, isSet: Bool)] = []

  @usableFromInline
  init(_ state: KeyedState<UInt8>, _ index: DueIndex, _ counters: OperatorCounters) {
    self.state = state
    self.index = index
    self.counters = counters
  }

  /// The earliest time for which a timer may wait.
  var earliest: Int64? { index.earliest }

  /// Takes what one record asked for, for key `position` of `keys`.
  @usableFromInline
  func gather(_ wanted: [(time: Int64, isSet: Bool)], _ keys: borrowing KeyColumn, at position: Int) {
    for request in wanted {
      requested.append(request.time, width: KeyColumn.timeWidth, before: keys, at: position)
      requests.append(request)
    }
  }

  /// Carries out what was gathered. During a drain's last step nothing new is set: it could never end.
  @usableFromInline
  func apply(isDraining: Bool) throws {
    guard !requests.isEmpty else { return }
    var discarded = 0
    try state.update(requested, 0..<requested.count) { position, value in
      let request = requests[position]
      if !request.isSet {
        value = nil
      } else if isDraining {
        discarded += 1
      } else if value == nil {
        value = 1
        index.keys(of: request.time).keys.append(from: requested, at: position)
      }
    }
    counters.discardedTimers(discarded)
    requests.removeAll(keepingCapacity: true)
    requested.removeAll()
  }

  /// Takes out the earliest timers due at `watermark`: the keys, without the time, of those that still wait.
  @usableFromInline
  func next(dueAt watermark: Timestamp) throws -> (time: Timestamp, keys: DueIndex.Waiting)? {
    guard let (time, waiting) = try index.next(upTo: watermark.microseconds) else { return nil }
    let due = DueIndex.Waiting()
    try state.update(waiting.keys, 0..<waiting.keys.count) { position, value in
      guard value != nil else { return }
      value = nil
      unsafe waiting.keys.withBytes(at: position) { unsafe due.keys.append($0.slice(8, $0.count - 8)) }
    }
    return (Timestamp(microseconds: time), due)
  }
}
