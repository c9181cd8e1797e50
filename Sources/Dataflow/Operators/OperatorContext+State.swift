public import Records

extension OperatorContext {
  /// The backing of the state called `name` in the store's own tables. Its schema is written down if it is new.
  ///
  /// - Throws: `RecordsError`, naming the field, if what is stored cannot be read as `Value`.
  @inlinable
  public func stateBacking<Value: Record>(_ name: String, of _: Value.Type) throws -> any KeyedBacking<Value> {
    StateTableBacking(try stateTable(name, of: Value.self), snapshot: snapshot)
  }

  /// The table of the state called `name`.
  @inlinable
  func stateTable<Value: Record>(_ name: String, of _: Value.Type) throws -> StateTable<Value> {
    let table = try table(of: name)
    let codec = try Value.recordCodec()
    let space = checkpoints.tables
    return try checkpoints.write { try StateTable(name, in: table, codec: codec, space: space, in: $0) }
  }
}
