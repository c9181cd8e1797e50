public import Records

/// What an operator is made of besides its closures: states and side outputs, declared where the operator is.
///
/// ```swift
/// clicks.keyed(by: \.user).process(
///   "sessions",
///   with: { parts in
///     (total: parts.value("total", of: Int64.self), pages: parts.map("pages", String.self, Int64.self),
///      alerts: parts.output(alerts))
///   },
///   emitting: Report.self,
///   onRecord: { click, parts, call in
///     parts.total.update(default: 0) { $0 += 1 }
///     try parts.pages.update(click.page) { $0 = ($0 ?? 0) + 1 }
///     if click.isOdd { parts.alerts.emit(Alert(click)) }
///   })
/// ```
///
/// The closure is called when the flow is described and once per subtask and run; it must declare the same each time.
/// A state named "total" of operator "sessions" is "sessions/total" in the store.
public final class OperatorParts {
  /// Nil while the flow is described.
  @usableFromInline let context: OperatorContext?
  @usableFromInline let operatorName: String
  @usableFromInline let cursor = CallCursor()
  @usableFromInline let isUndoable: Bool
  /// What was declared.
  @usableFromInline private(set) var states: [StateDeclaration] = []
  @usableFromInline private(set) var sides: [SidePort] = []
  @usableFromInline private(set) var parts: [any CallPart] = []
  /// The first state that could not be opened.
  @usableFromInline private(set) var failure: (any Error)?
  private lazy var clock = context?.processingClock

  /// - Parameter isUndoable: whether a call that fails is survived.
  @usableFromInline
  init(_ name: String, _ context: OperatorContext?, isUndoable: Bool) {
    operatorName = name
    self.context = context
    self.isUndoable = isUndoable
  }

  /// A value for each key.
  @inlinable
  public func value<Value: Record>(_ name: String, of _: Value.Type, ttl: StateTTL? = nil) -> ValueState<Value> {
    let state = ValueState<Value>(store(name, "value", ttl))
    add(state)
    return state
  }

  /// A list for each key. `name/bounds` is a state of it as well.
  @inlinable
  public func list<Value: Record>(_ name: String, of _: Value.Type, ttl: StateTTL? = nil) -> ListState<Value> {
    let bounds = ValueState<ListBounds>(store(name + "/bounds", "value", ttl, isLasting: true))
    add(bounds)
    let elements = EntryStore<Value>(store(name, "list", ttl))
    add(elements)
    return ListState(elements, bounds)
  }

  /// A map for each key.
  @inlinable
  public func map<Key: KeyEncodable, Value: Record>(
    _ name: String, _: Key.Type, _: Value.Type, ttl: StateTTL? = nil
  ) -> MapState<Key, Value> {
    let entries = EntryStore<Value>(store(name, "map", ttl))
    add(entries)
    return MapState(entries)
  }

  /// A value for each key that others are joined to by `combine`.
  @inlinable
  public func reducing<Value: Record>(
    _ name: String, of _: Value.Type, ttl: StateTTL? = nil,
    _ combine: @escaping @Sendable (_ soFar: Value, _ next: Value) throws -> Value
  ) -> ReducingState<Value> {
    ReducingState(value(name, of: Value.self, ttl: ttl), combine)
  }

  /// An accumulator for each key.
  @inlinable
  public func aggregating<Element, Accumulator: Record, Result>(
    _ name: String, _ aggregation: Aggregation<Element, Accumulator, Result>, ttl: StateTTL? = nil
  ) -> AggregatingState<Element, Accumulator, Result> {
    AggregatingState(value(name, of: Accumulator.self, ttl: ttl), aggregation)
  }

  /// A way to a side output.
  public func output<Element: Sendable>(_ output: SideOutput<Element>) -> SideHandle<Element> {
    sides.append(SidePort(output))
    var collector = SideCollector<Element>(.discarding)
    if let context {
      do { collector = try context.collector(of: output) } catch { fail(error) }
    }
    return SideHandle(collector, cursor)
  }
}

extension OperatorParts {
  /// The store of the state called `name`, over memory alone while the flow is described.
  @inlinable
  func store<Value: Record>(_ name: String, _ kind: String, _ ttl: StateTTL?, isLasting: Bool = false) -> AgedStore<
    Value
  > {
    let fullName = declare(name, ttl == nil ? kind : kind + "/ttl")
    let isStamped = ttl != nil
    if let context {
      do {
        let table = try context.stateTable(fullName, of: Value.self)
        let backing = StateTableBacking(aged: table, isStamped: isStamped, snapshot: context.snapshot)
        let state = KeyedState<Aged<Value>>(backing: backing, memoryBudget: context.stateMemory)
        let store = unsafe AgedStore<Value>(
          fullName, state, cursor, ttl: ttl, isLasting: isLasting, lookup: backing.lookup,
          decode: { try unsafe table.decodeAged($0, isStamped: isStamped) })
        state.isUndoable = isUndoable
        join(store, isComposite: kind != "value")
        return store
      } catch { fail(error) }
    }
    return unsafe AgedStore(
      fullName, KeyedState(backing: MemoryBacking<Aged<Value>>()), cursor, ttl: ttl, isLasting: isLasting, lookup: nil,
      decode: { _ in throw KeyColumn.undecodable(Value.self) })
  }

  @usableFromInline
  func declare(_ name: String, _ kind: String) -> String {
    let fullName = operatorName + "/" + name
    states.append(StateDeclaration(fullName, StateDeclaration.Kind(rawValue: kind)))
    return fullName
  }

  @usableFromInline
  func join<Value>(_ store: AgedStore<Value>, isComposite: Bool) {
    guard let context else { return }
    store.sweep(context.keyGroups, composite: isComposite, context.eventTime, clock)
    context.join(store)
  }

  @usableFromInline
  func add(_ part: any CallPart) { parts.append(part) }

  @usableFromInline
  func fail(_ error: any Error) { if failure == nil { failure = error } }

  /// Throws what kept a part from being opened.
  @usableFromInline
  func check() throws { if let failure { throw failure } }

  /// The next calls are for `range` of `keys`.
  @usableFromInline
  func prepare(_ keys: borrowing KeyColumn, _ range: Range<Int>) throws {
    for part in parts { try part.prepare(keys, range) }
  }

  /// Takes back what the call under way did to states and side outputs.
  @usableFromInline
  func undo() {
    for part in parts { unsafe part.undo(cursor.call) }
    unsafe context?.undoSides(cursor.call)
  }
}
