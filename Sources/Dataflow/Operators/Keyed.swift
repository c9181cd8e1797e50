extension Stream {
  /// The same records, each on the subtask that owns its own key: the key bytes that the source gave it.
  ///
  /// A key's records stay in order as far as they come from one partition.
  @inlinable
  public func keyed() -> KeyedStream<Element> {
    flow.addExchange(OperatorDescription(kind: "keyed", keepsKeys: true), after: self, key: nil) { batch, sender in
      sender.send(batch)
    }
  }

  /// The same records with the key `key` gives them, each on the subtask that owns it. A key path will do: `\.product`.
  ///
  /// Keys are compared by their canonical bytes (see `KeyEncodable`), never as Swift values.
  @inlinable
  public func keyed<Key: KeyEncodable>(by key: @escaping @Sendable (Element) throws -> Key) -> KeyedStream<Element> {
    flow.addExchange(
      OperatorDescription(kind: "keyed", keepsKeys: true), after: self,
      key: { batch in
        var keys = KeyColumn(capacity: batch.count)
        for index in 0..<batch.count { keys.append(try key(batch[index])) }
        batch.keys = keys
      },
      route: { batch, sender in sender.send(batch) })
  }
}
