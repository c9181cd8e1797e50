public import Dataflow
public import Records
public import Views

extension KeyedStream {
  /// Folds each key's records, in order, into the row of that key: the view is the state. Emits each row that a record
  /// led to.
  ///
  /// The stream must be keyed by the view's primary key. The job owns the columns of `Row` in this view.
  ///
  /// - Parameters:
  ///   - initial: the row that a key begins with; it must set the primary key to the key it is given.
  ///   - onError: what becomes of a record on which `update` throws; its change is undone.
  @inlinable
  @discardableResult
  public func fold<Row: Record, Key: KeyEncodable & ColumnConvertible>(
    into view: View<Row>, initial: @escaping @Sendable (Key) throws -> Row, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Row, Element) throws -> Void
  ) -> Stream<Row> {
    let description = OperatorDescription(
      kind: "fold into view", name: "view \(view.name)", keepsKeys: true, isTerminal: true, owned: view.ownedResources)
    let backing: @Sendable (OperatorContext) throws -> any KeyedBacking<Row> = { context in
      view.backing(context, keyedBy: Key.self)
    }
    return fold(description, backing: backing, onError: onError) { keys, index, row, element in
      // Moved out, so that the row is changed in place and not copied.
      var changed: Row
      if let present = row.take() {
        changed = present
      } else {
        changed = try initial(keys.decoded(Key.self, at: index))
      }
      try update(&changed, element)
      row = changed
    }
  }

  /// Folds each key's records, in order, into the row of that key, which may also come and go: `row` is nil where there
  /// is none, and making it nil deletes it, for all jobs. Emits each row that a record led to, none where it deleted.
  ///
  /// ```swift
  /// events.keyed().fold(into: ads, keyedBy: String.self) { product, row, event in
  ///   if event.kind == .withdrawn { row = nil } else { row = row ?? PromotedProduct(product: product) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - keyedBy: the type of the stream's keys, which are the view's primary keys.
  ///   - onError: what becomes of a record on which `update` throws; its change is undone.
  ///   - update: a row that it makes must have the key it is given.
  @inlinable
  @discardableResult
  public func fold<Row: Record, Key: KeyEncodable & ColumnConvertible>(
    into view: View<Row>, keyedBy _: Key.Type, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (_ key: Key, _ row: inout Row?, _ element: Element) throws -> Void
  ) -> Stream<Row> {
    let description = OperatorDescription(
      kind: "fold into view", name: "view \(view.name)", keepsKeys: true, isTerminal: true, owned: view.ownedResources)
    let backing: @Sendable (OperatorContext) throws -> any KeyedBacking<Row> = { context in
      view.backing(context, keyedBy: Key.self)
    }
    return fold(description, backing: backing, onError: onError) { keys, index, row, element in
      try update(keys.decoded(Key.self, at: index), &row, element)
    }
  }
}

extension View {
  @usableFromInline
  func backing<Key: KeyEncodable & ColumnConvertible>(
    _ context: OperatorContext, keyedBy _: Key.Type
  ) -> any KeyedBacking<Row> {
    ViewBacking(self, context.environment, ViewKeys(self, Key.self))
  }
}
