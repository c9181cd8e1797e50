public import Bytes

/// What the parts of an operator keep their values in: a keyed state whose values may expire, whose changes a failing
/// call takes back, and whose expired values are swept out.
///
/// Invariant: `decode` gets rows of the state's own table; one thread at a time.
@usableFromInline
@safe
final class AgedStore<Value>: CheckpointParticipant {
  @usableFromInline let state: KeyedState<Aged<Value>>
  @usableFromInline let cursor: CallCursor
  @usableFromInline let ttl: StateTTL?
  /// Whether a value lives as long as the newest write that it ever had, and is seen by everybody until then: what
  /// other values, each with a time of its own, are found by.
  @usableFromInline let isLasting: Bool
  /// Decodes a row of the table; reads are over `lookup`.
  @usableFromInline let decode: (UnsafeRawBufferPointer) throws -> Aged<Value>
  /// Nil while a flow is only described.
  @usableFromInline let lookup: StateLookup?
  private let name: String
  private var sweeper: StateSweeper?
  /// The call whose changes can be taken back.
  @usableFromInline @exclusivity(unchecked) var lastCall: UInt64 = 0

  @usableFromInline
  init(
    _ name: String, _ state: KeyedState<Aged<Value>>, _ cursor: CallCursor, ttl: StateTTL?, isLasting: Bool,
    lookup: StateLookup?,
    decode: @escaping (UnsafeRawBufferPointer) throws -> Aged<Value>
  ) {
    self.name = name
    self.state = state
    self.cursor = cursor
    self.ttl = ttl
    self.isLasting = isLasting
    self.lookup = lookup
    unsafe self.decode = unsafe decode
  }

  /// Lets expired values be swept out of the key groups `groups`; `time` is event time, `clock` processing time.
  func sweep(_ groups: Range<Int>, composite: Bool, _ time: OperatorTime, _ clock: ProcessingClock?) {
    guard let ttl, let lookup else { return }
    sweeper = StateSweeper(lookup, groups, ttl, isComposite: composite, time, clock)
  }

  // MARK: Values

  @inlinable
  func isVisible(_ stamp: Int64) -> Bool {
    guard let ttl else { return true }
    if unsafe ttl.clock == .event && !isLasting && cursor.time.microseconds >= stamp.saturatingAdd(ttl.ttl) {
      return false
    }
    return unsafe !ttl.isGone(stamp, watermark: cursor.watermark, now: cursor.now)
  }

  @inlinable
  var stamp: Int64 {
    guard let ttl else { return 0 }
    return unsafe ttl.clock == .event ? cursor.time.microseconds : cursor.now.microseconds
  }

  /// The visible value of prepared key `index`.
  @inlinable
  func value(at index: Int) -> Value? {
    guard let aged = state.value(at: index), isVisible(aged.stamp) else { return nil }
    return aged.value
  }

  /// Calls `body` with the visible value of prepared key `index`, to change it.
  @inlinable
  @inline(__always)
  func change<R>(at index: Int, _ body: (inout Value?) throws -> R) rethrows -> R {
    noteCall()
    return try state.change(at: index) { slot in
      var value: Value?
      var stamp = stamp
      // Moved out, so that it is changed in place.
      if let aged = slot.take(), isVisible(aged.stamp) {
        value = aged.value
        if isLasting { stamp = max(stamp, aged.stamp) }
      }
      defer { if let value { slot = Aged(value, stamp) } }
      return try body(&value)
    }
  }

  /// What is changed from now on belongs to the call under way.
  @inlinable
  @inline(__always)
  func noteCall() {
    if unsafe state.isUndoable && lastCall != cursor.call {
      state.keepChanges()
      unsafe lastCall = unsafe cursor.call
    }
  }

  @usableFromInline
  func undo(_ call: UInt64) { if unsafe lastCall == call { state.undoChanges() } }

  // MARK: Checkpoints

  @usableFromInline
  func seal(epoch: UInt64) throws -> [any SealedPart] {
    do {
      try sweeper?.sweep(changed: state.changedCount) { keys, isExpired in
        try state.update(keys, 0..<keys.count) { _, aged in
          if let found = aged, isExpired(found.stamp) { aged = nil }
        }
      }
      return try state.seal().map { [$0] } ?? []
    } catch let error as DataflowError {
      throw error
    } catch {
      throw DataflowError(.operatorFailed, name, "its state cannot be made part of a checkpoint", cause: error)
    }
  }

  @usableFromInline var isOverBudget: Bool { state.isOverBudget }
  @usableFromInline func committed(epoch: UInt64) throws { try state.noticeCommits() }
}
