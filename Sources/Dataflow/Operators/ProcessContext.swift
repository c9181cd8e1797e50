public import Bytes

/// What a process operator's closures work with: one key, its state, its timers, and the way out. Valid during the
/// call.
///
/// `state` is the value of operators over one; those with declared parts get these beside it.
@safe
public struct ProcessContext<State, Output: Sendable>: ~Copyable {
  // Invariant: while a closure runs, `slot` points to the key's value and `keys` to the column that holds the key.
  @usableFromInline var slot: UnsafeMutablePointer<State?>?
  @usableFromInline var keys: UnsafePointer<KeyColumn>?
  @usableFromInline var index = 0
  @usableFromInline var output: Collector<Output>
  /// The timers of the record under way: set or deleted, in order.
  @usableFromInline var requests = TimerRequests()
  @usableFromInline let firesByClock: Bool
  /// The record's timestamp, or the time for which the timer was set.
  @inlinable public var timestamp: Timestamp { time }
  @usableFromInline var time = Timestamp.min
  /// Event time: no record at or before it is expected.
  public let watermark: Timestamp
  /// The clock's time of day when the batch or the timer was taken up; never falls.
  public let processingTime: Timestamp

  @usableFromInline
  init(watermark: Timestamp, _ timers: OperatorTimers, capacity: Int) {
    self.watermark = watermark
    processingTime = timers.clock.read()
    firesByClock = timers.processing != nil
    unsafe slot = nil
    unsafe keys = nil
    output = Collector(capacity: capacity)
  }

  /// The key's state; nil: there is none. Setting nil deletes it.
  @inlinable
  public var state: State? {
    get { unsafe slot.unsafelyUnwrapped.pointee }
    nonmutating _modify { yield unsafe &slot.unsafelyUnwrapped.pointee }
  }

  /// Emits a record with the timestamp of what is being worked on, and its key.
  @inlinable
  public mutating func emit(_ element: consuming Output) { output.append(element) }

  /// Sets a timer of this key: `onTimer` is called once when the watermark has reached `time`. Set twice it fires once;
  /// a time that has passed fires before the watermark moves on.
  @inlinable
  public mutating func setTimer(at time: Timestamp) { requests.event.append((time.microseconds, true)) }

  /// Deletes the key's timer for `time`, if there is one.
  @inlinable
  public mutating func deleteTimer(at time: Timestamp) { requests.event.append((time.microseconds, false)) }

  /// Sets a timer of this key by the clock: `onProcessingTimer` is called once when its time of day has reached `time`.
  @inlinable
  public mutating func setProcessingTimer(at time: Timestamp) { requests.processing.append((time.microseconds, true)) }

  /// Deletes the key's timer of the clock for `time`, if there is one.
  @inlinable
  public mutating func deleteProcessingTimer(at time: Timestamp) {
    requests.processing.append((time.microseconds, false))
  }

  /// The key as the value that it encodes.
  @inlinable
  public func key<Key: KeyEncodable>(as type: Key.Type = Key.self) throws -> Key {
    try unsafe keys.unsafelyUnwrapped.pointee.decoded(type, at: index)
  }

  /// The key's bytes.
  public var keyBytes: [UInt8] {
    unsafe keys.unsafelyUnwrapped.pointee.withBytes(at: index) { unsafe [UInt8]($0) }
  }

  /// Points at key `index` for the time of `body`. What `body` emitted and asked for is kept if it returns.
  @inlinable
  mutating func run(
    _ index: Int, at time: Timestamp, _ value: inout State?, _ body: (inout Self) throws -> Void
  ) throws {
    self.index = index
    self.time = time
    requests.removeAll()
    let first = output.begin(at: time)
    do {
      try unsafe withUnsafeMutablePointer(to: &value) { pointer in
        unsafe slot = pointer
        defer { unsafe slot = nil }
        try body(&self)
        if !firesByClock && !requests.processing.isEmpty { throw OperatorTimers.noHandler }
      }
    } catch {
      output.undo(to: first)
      requests.removeAll()
      throw error
    }
    unsafe output.takeKey(of: keys.unsafelyUnwrapped.pointee, at: index, from: first)
  }
}
