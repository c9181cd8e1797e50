public import Bytes

/// The sending end of an exchange on one subtask, as the subtask's loop sees it.
protocol Outlet: AnyObject {
  /// Whether a channel is full: nothing that may feed this outlet should begin.
  var isBlocked: Bool { get }
  /// When the oldest record held back must go, in microseconds of the clock; nil if nothing is held.
  var due: Int64? { get }
  /// Sends everything held back.
  func flush()
  /// Sends everything held back and the barrier behind it.
  func barrier(_ epoch: UInt64)
}

/// Spreads records over the subtasks by their keys, gathering them into batches of a size worth a queue's cost.
@usableFromInline
@safe
final class ExchangeSender<Element: Sendable>: Outlet {
  private final class Target {
    let channel: Channel<Element>
    var watermark: Watermark?
    init(_ channel: Channel<Element>) { self.channel = channel }
  }

  /// A batch goes off when it has so many records.
  @usableFromInline static var fullBatch: Int { 1024 }

  // Invariant: `targets.count` initialised batches, freed in deinit.
  @usableFromInline nonisolated(unsafe) let gathering: UnsafeMutablePointer<Batch<Element>>
  @usableFromInline let width: Int
  private let targets: [Target]
  private let clock: any RuntimeClock
  private let linger: Int64
  private var heldSince: Int64?

  init(_ channels: [Channel<Element>], clock: any RuntimeClock, linger: Int64) {
    targets = channels.map(Target.init)
    width = channels.count
    unsafe gathering = .allocate(capacity: channels.count)
    for index in channels.indices { unsafe (gathering + index).initialize(to: Batch()) }
    self.clock = clock
    self.linger = linger
  }

  deinit {
    unsafe gathering.deinitialize(count: width)
    unsafe gathering.deallocate()
  }

  /// Takes a batch with keys and moves each record to the subtask of its key.
  @inlinable
  func send(_ batch: consuming Batch<Element>) {
    precondition(batch.isKeyed, "an exchange needs a key for each record")
    for index in 0..<batch.count {
      let hash = batch.keys.hash(at: index)
      let target = KeyHash.subtask(ofKeyGroup: hash.keyGroup, parallelism: width)
      let time = batch.timestamp(index)
      let element = unsafe batch.moveOut(index)
      unsafe gathering[target].keys.append(from: batch.keys, at: index)
      unsafe gathering[target].append(element, at: time)
    }
    batch.disown()
    dispatch()
  }

  /// Takes a batch as it is, for the one target.
  func forward(_ batch: consuming Batch<Element>) {
    let count = batch.count
    if unsafe gathering[0].isEmpty && count >= Self.fullBatch {
      unsafe gathering[0] = batch
    } else {
      let isKeyed = batch.isKeyed
      for index in 0..<count {
        let time = batch.timestamp(index)
        if isKeyed { unsafe gathering[0].keys.append(from: batch.keys, at: index) }
        unsafe gathering[0].append(batch.moveOut(index), at: time)
      }
      batch.disown()
    }
    dispatch()
  }

  /// Sends the batches that are full.
  @usableFromInline
  func dispatch() {
    for index in 0..<width where unsafe gathering[index].count >= Self.fullBatch { emit(index, barrier: nil) }
    hold()
  }

  /// Takes a watermark: it follows the records gathered so far.
  func watermark(_ watermark: Watermark) {
    for index in 0..<width { targets[index].watermark = watermark }
    hold()
  }

  private func hold() {
    if heldSince == nil { heldSince = clock.now }
  }

  private func emit(_ index: Int, barrier: UInt64?) {
    let target = targets[index]
    let count = unsafe gathering[index].count
    guard count > 0 || target.watermark != nil || barrier != nil else { return }
    var batch = Batch<Element>()
    unsafe swap(&batch, &gathering[index])
    target.channel.send(
      Parcel(
        batch: consume batch, records: count, watermark: target.watermark, barrier: barrier))
    target.watermark = nil
  }

  var isBlocked: Bool { targets.contains { $0.channel.isFull } }

  var due: Int64? { heldSince.map { $0.saturatingAdd(linger) } }

  func flush() {
    for index in 0..<width { emit(index, barrier: nil) }
    heldSince = nil
  }

  func barrier(_ epoch: UInt64) {
    for index in 0..<width { emit(index, barrier: epoch) }
    heldSince = nil
  }
}
