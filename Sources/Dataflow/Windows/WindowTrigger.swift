public import Bytes
public import Records

/// Decides when windows fire, beside the end of their time: a value that is the same for all, with a state for each key
/// and window that is kept in the store.
///
/// All calls for a key come in the order of its records and times. What a call changes counts only if the record, under
/// the policy *skip*, is not left out.
public protocol WindowTrigger<Element>: Sendable {
  associatedtype Element: Sendable
  associatedtype State: Record

  /// What the state of a new window is.
  var initialState: State { get }
  /// Whether it asks for the clock or sets timers of it. Not unless stated.
  var usesProcessingTime: Bool { get }
  /// A record has been added. Called for those within the allowed lateness too, after the window's end.
  func onRecord(_ element: borrowing Element, _ state: inout State, _ context: inout TriggerContext) -> TriggerAction
  /// The watermark has reached the window's end. Fires unless stated otherwise.
  func onEnd(_ state: inout State, _ context: inout TriggerContext) -> TriggerAction
  /// The watermark has reached a time that the trigger set.
  func onEventTime(_ time: Timestamp, _ state: inout State, _ context: inout TriggerContext) -> TriggerAction
  /// The clock has reached a time that the trigger set.
  func onProcessingTime(_ time: Timestamp, _ state: inout State, _ context: inout TriggerContext) -> TriggerAction
  /// A session has grown into another one: `other`'s state is to be joined into this one's; timers of `other` are gone.
  func merge(_ other: State, into state: inout State, _ context: inout TriggerContext)
}

extension WindowTrigger {
  public var usesProcessingTime: Bool { false }
  public func onEnd(_ state: inout State, _ context: inout TriggerContext) -> TriggerAction { .fire }
  public func onEventTime(
    _ time: Timestamp, _ state: inout State, _ context: inout TriggerContext
  ) -> TriggerAction { .none }
  public func onProcessingTime(
    _ time: Timestamp, _ state: inout State, _ context: inout TriggerContext
  ) -> TriggerAction { .none }
  public func merge(_ other: State, into state: inout State, _ context: inout TriggerContext) {}
}

/// What a trigger wants done with a window.
@frozen
public struct TriggerAction: Hashable, Sendable {
  /// Whether the window's result is emitted; not if the window is empty.
  public var fires: Bool
  /// Whether its contents are forgotten, after that. The window itself stays until its time.
  public var purges: Bool

  @inlinable
  public init(fires: Bool, purges: Bool) {
    self.fires = fires
    self.purges = purges
  }

  public static let none = TriggerAction(fires: false, purges: false)
  /// Emits the result; a stream of `purging()` windows forgets the contents then.
  public static let fire = TriggerAction(fires: true, purges: false)
  public static let fireAndPurge = TriggerAction(fires: true, purges: true)
  public static let purge = TriggerAction(fires: false, purges: true)
}

/// What a trigger knows and may ask for during a call.
public struct TriggerContext {
  /// The window, as it is now.
  public internal(set) var window = Window(start: .min, end: .max)
  /// The record's timestamp, or the time that was reached.
  public internal(set) var timestamp = Timestamp.min
  /// Event time: no record at or before it is expected.
  public internal(set) var watermark = Timestamp.min
  /// The clock, where the trigger uses it.
  public internal(set) var processingTime = Timestamp.min
  /// Whether the window's end has been reached.
  public var isOver: Bool { window.end.advanced(byMicroseconds: -1) <= watermark }

  @usableFromInline var eventTimers: [Int64] = []
  @usableFromInline var clockTimers: [Int64] = []

  @usableFromInline init() {}

  /// Asks for `onEventTime` at `time`, once however often it is asked for.
  public mutating func setTimer(at time: Timestamp) { eventTimers.append(time.microseconds) }

  /// Asks for `onProcessingTime` at `time`, once however often it is asked for. For triggers that use the clock.
  public mutating func setProcessingTimer(at time: Timestamp) { clockTimers.append(time.microseconds) }
}
