internal import Bytes
public import Records

/// Changes of a view while they are collected: on any thread, by one owner at a time. The last change of a key wins;
/// upserts of different columns of one key add up.
public final class ViewChanges<Row: Record> {
  /// The view that is changed.
  public let view: View<Row>
  private var collector = ChangeCollector()
  private var key = ByteBuffer(capacity: 64)

  public init(_ view: View<Row>) { self.view = view }

  /// The changes so far, repeated keys counted each time.
  public var count: Int { collector.count }
  public var isEmpty: Bool { collector.count == 0 }

  /// Sets every column of the struct in the row of its key, making the row if there is none. Columns that the struct
  /// does not have keep their values.
  public func upsert(_ row: borrowing Row) {
    let plan = view.plan
    unsafe withUnsafePointer(to: row) { row in
      collector.add(
        key: { unsafe plan.appendKey(of: row, to: &$0) }, change: { unsafe plan.appendChange(of: row, to: &$0) })
    }
  }

  /// Sets the columns of `columns` alone; a row that is made gets the defaults in all others.
  public func upsert(_ row: borrowing Row, columns: ViewColumns<Row>) {
    let plan = view.plan
    unsafe withUnsafePointer(to: row) { row in
      collector.add(
        key: { unsafe plan.appendKey(of: row, to: &$0) },
        change: { unsafe plan.appendChange(of: row, steps: columns.steps, mask: columns.mask, to: &$0) })
    }
  }

  /// Deletes the row of `key`; nothing happens if there is none.
  ///
  /// - Throws: `invalidQuery` if the value is none of the primary key's type.
  public func delete<Key: ColumnConvertible>(_ key: Key) throws(ViewError) {
    let bytes = try view.plan.keyBytes(key.columnValue)
    unsafe bytes.withUnsafeBytes { unsafe deleteRow(keyBytes: $0) }
  }

  /// Deletes the row with the key of `row`.
  public func delete(_ row: borrowing Row) {
    let plan = view.plan
    unsafe withUnsafePointer(to: row) { row in
      collector.add(key: { unsafe plan.appendKey(of: row, to: &$0) }, change: { _ in })
    }
  }

  /// Deletes the row whose primary key has these bytes in `KeyEncoding`.
  @unsafe
  public func deleteRow(keyBytes: UnsafeRawBufferPointer) {
    collector.add(key: { unsafe $0.append(keyBytes) }, change: { _ in })
  }

  /// Sets every column of the struct in the row whose primary key has these bytes: for folds, whose state is found by
  /// the bytes of its key.
  ///
  /// - Throws: `keyColumn` if the struct holds another key.
  @unsafe
  public func upsert(_ row: borrowing Row, keyBytes: UnsafeRawBufferPointer) throws(ViewError) {
    let plan = view.plan
    key.removeAll()
    let isSame = unsafe withUnsafePointer(to: row) { row in
      unsafe plan.appendKey(of: row, to: &key)
      return unsafe key.bytes.compare(keyBytes) == 0
    }
    guard isSame else {
      throw ViewError(
        .keyColumn, view: view.name, column: view.definition.key.name,
        "the row's primary key is not the key it was folded by; leave the key column as the initial value sets it")
    }
    unsafe withUnsafePointer(to: row) { row in
      collector.add(key: { unsafe $0.append(keyBytes) }, change: { unsafe plan.appendChange(of: row, to: &$0) })
    }
  }

  /// Ends the collecting: the changes as they are to be written. The object is empty again.
  public func seal() throws -> SealedViewChanges {
    let isBytes = view.plan.schema.columns.reduce(into: [UInt32: Bool]()) { $0[$1.id] = $1.storage == .bytes }
    let sorted = try collector.sorted { isBytes[$0] ?? false }
    collector = ChangeCollector()
    return try SealedViewChanges(space: view.space, plan: view.plan, changes: sorted)
  }
}

/// Some columns of a row struct, resolved once, for upserts that leave the others alone.
public struct ViewColumns<Row: Record>: Sendable {
  let steps: [RowPlan.Step]
  let mask: [UInt8]
}

extension View {
  /// Resolves columns for `ViewChanges.upsert(_:columns:)`.
  ///
  /// - Throws: `keyColumn` if the primary key is among them; `RecordsError` if a key path names no stored property.
  public func columns(_ columns: PartialKeyPath<Row>...) throws -> ViewColumns<Row> {
    var steps: [RowPlan.Step] = []
    for column in columns {
      let step = plan.step(field: try plan.layout.index(of: column))
      guard step.column != 0 else {
        throw ViewError(.keyColumn, view: name, column: definition.key.name, "every upsert sets the primary key")
      }
      if !steps.contains(where: { $0.id == step.id }) { steps.append(step) }
    }
    steps.sort { $0.id < $1.id }
    return ViewColumns(steps: steps, mask: RowPlan.mask(steps))
  }
}
