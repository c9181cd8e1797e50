public import Bytes

extension KeyedState {
  /// Updates with each record of `batch` under an error policy: under any but *fail* a record on which `body` throws is
  /// undone and the policy decides.
  @inlinable
  func update<Element: Sendable>(
    _ batch: borrowing Batch<Element>, _ onError: ErrorPolicy<Element>, _ context: OperatorContext,
    _ body: (_ index: Int, _ value: inout Value?) throws -> Void
  ) throws {
    if onError == .fail {
      try update(batch.keys, 0..<batch.count, body)
    } else {
      try update(batch.keys, 0..<batch.count, recover: { try onError.handle($1, context, batch, $0) }, body)
    }
  }

  /// As above with keys of one's own; `place` tells where in `batch` the record of a key lies.
  @inlinable
  func update<Element: Sendable>(
    _ keys: borrowing KeyColumn, _ range: Range<Int>, _ onError: ErrorPolicy<Element>, _ context: OperatorContext,
    _ batch: borrowing Batch<Element>, at place: (Int) -> Int,
    _ body: (_ index: Int, _ value: inout Value?) throws -> Void
  ) throws {
    if onError == .fail {
      try update(keys, range, body)
    } else {
      try update(keys, range, recover: { try onError.handle($1, context, batch, place($0)) }, body)
    }
  }

  /// As above where there are no records, as for timers: what fails did so at `time`.
  @inlinable
  func update<Element: Sendable>(
    _ keys: borrowing KeyColumn, _ range: Range<Int>, _ onError: ErrorPolicy<Element>, _ context: OperatorContext,
    at time: Timestamp, _ body: (_ index: Int, _ value: inout Value?) throws -> Void
  ) throws {
    if onError == .fail {
      try update(keys, range, body)
    } else {
      try update(keys, range, recover: { try onError.handle($1, context, keys, $0, at: time) }, body)
    }
  }
}
