public import Bytes

/// A side output of one operator on one subtask, whatever its records are.
protocol SideCollecting: AnyObject {
  /// Passes on what was gathered.
  func flush() throws
  func watermark(_ watermark: Watermark) throws
  /// Takes back what call `call` emitted.
  func undo(_ call: UInt64)
}

/// Gathers the records of one side output until the operator is through with its batch.
///
/// What a failing call emitted is taken back. One thread at a time.
@usableFromInline
final class SideCollector<Element: Sendable>: SideCollecting {
  @usableFromInline var batch = Batch<Element>()
  /// The call that emitted last, and where its records begin.
  @usableFromInline var lastCall: UInt64 = 0
  @usableFromInline var first = 0
  private let receiver: Receiver<Element>

  init(_ receiver: Receiver<Element>) { self.receiver = receiver }

  /// Appends a record of `call`; its key, if it has one, is number `index` of `keys`.
  @inlinable
  func append(
    _ element: consuming Element, at time: Timestamp, key keys: borrowing KeyColumn, _ index: Int, call: UInt64
  ) {
    if call != lastCall {
      lastCall = call
      first = batch.count
    }
    batch.append(element, at: time)
    if index < keys.count { batch.keys.append(from: keys, at: index) }
  }

  func undo(_ call: UInt64) {
    if call == lastCall && first < batch.count {
      let isKeyed = batch.isKeyed
      batch.truncate(to: first)
      if isKeyed { batch.keys.truncate(to: first) }
    }
  }

  func flush() throws {
    guard !batch.isEmpty else { return }
    var full = Batch<Element>()
    swap(&full, &batch)
    first = 0
    // A batch is keyed wholly or not at all.
    if !full.isKeyed { _ = full.takeKeys() }
    try receiver.batch(full)
  }

  func watermark(_ watermark: Watermark) throws { try receiver.watermark(watermark) }
}
