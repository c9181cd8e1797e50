public import Records

extension KeyedStream {
  /// The first record of each key; with a time to live, the first again after it has passed since the last one that was
  /// let through.
  ///
  /// - Parameter name: its state is `name/seen`, a byte for each key.
  @inlinable
  public func distinct(_ name: String, ttl: StateTTL? = nil) -> Stream<Element> {
    process(
      name, with: { $0.value("seen", of: Bool.self, ttl: ttl) }, emitting: Element.self,
      onRecord: { element, seen, call in
        if seen.value != nil { return }
        seen.value = true
        call.emit(element)
      })
  }

  /// The records without those that follow one of the same key that was let through by less than `time` of event time.
  ///
  /// A record before the one let through counts as a repeat too. One that comes behind the watermark by more than
  /// `lateness` may meet a memory that is gone, and is let through then.
  @inlinable
  public func deduplicate(_ name: String, within time: Duration, lateness: Duration = .zero) -> Stream<Element> {
    distinct(name, ttl: .eventTime(time, lateness: lateness))
  }

  /// Adds each key's records to its accumulator and emits what becomes of it, after each record. A failing `add` or
  /// `result` leaves the accumulator as it was.
  ///
  /// - Parameter name: its state is `name/accumulator`.
  @inlinable
  public func aggregate<Accumulator: Record, Result: Sendable>(
    _ name: String, _ aggregation: Aggregation<Element, Accumulator, Result>, ttl: StateTTL? = nil,
    onError: ErrorPolicy = .fail
  ) -> Stream<Result> {
    process(
      name, with: { $0.aggregating("accumulator", aggregation, ttl: ttl) }, emitting: Result.self, onError: onError,
      onRecord: { element, state, call in
        try state.add(element)
        if let result = try state.result() { call.emit(result) }
      })
  }

  /// Merges each key's accumulators, which other aggregations made of parts of the records, and emits what becomes of
  /// them, after each.
  ///
  /// - Parameter name: its state is `name/accumulator`.
  @inlinable
  public func merge<Input, Result: Sendable>(
    _ name: String, _ aggregation: Aggregation<Input, Element, Result>, ttl: StateTTL? = nil,
    onError: ErrorPolicy = .fail
  ) -> Stream<Result> where Element: Record {
    process(
      name, with: { $0.aggregating("accumulator", aggregation, ttl: ttl) }, emitting: Result.self, onError: onError,
      onRecord: { element, state, call in
        try state.merge(element)
        if let result = try state.result() { call.emit(result) }
      })
  }
}
