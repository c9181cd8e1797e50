import Bytes

/// The receiving end of an exchange on one subtask, as the subtask's loop sees it.
protocol Inlet: AnyObject {
  /// Works off at most one parcel; returns whether there was one.
  func step() throws -> Bool
  /// The epoch whose barrier has come on every channel, and which holds all channels until `release`.
  var aligned: UInt64? { get }
  /// Goes on after the barrier.
  func release()
}

/// Takes what every producer sent, channel by channel: merges watermarks, aligns barriers.
///
/// A channel whose barrier has come is left alone until the others' have; only its producer is held back by that, once
/// the channel is full.
final class ExchangeReceiver<Element: Sendable>: Inlet {
  private struct Input {
    let channel: Channel<Element>
    var parcels: ArraySlice<Parcel<Element>> = []
    var isHeld = false
  }

  private var inputs: [Input]
  private var turn = 0
  private var heldCount = 0
  private var merge: WatermarkMerge
  private let receiver: Receiver<Element>
  private(set) var aligned: UInt64?
  private var barrier: UInt64?

  init(_ channels: [Channel<Element>], _ receiver: Receiver<Element>) {
    inputs = channels.map { Input(channel: $0) }
    merge = WatermarkMerge(count: channels.count)
    self.receiver = receiver
  }

  func step() throws -> Bool {
    for _ in inputs.indices {
      let index = turn
      turn = turn + 1 == inputs.count ? 0 : turn + 1
      if inputs[index].isHeld { continue }
      if inputs[index].parcels.isEmpty { inputs[index].parcels = inputs[index].channel.drain()[...] }
      if let parcel = inputs[index].parcels.popFirst() {
        try take(parcel, from: index)
        return true
      }
    }
    return false
  }

  private func take(_ parcel: Parcel<Element>, from index: Int) throws {
    if parcel.records > 0, let batch = parcel.batch.take() {
      // What is being worked on is no longer waiting.
      inputs[index].channel.finished(parcel.records)
      try receiver.batch(batch)
    }
    if let watermark = parcel.watermark, let merged = merge.update(index, watermark) {
      try receiver.watermark(merged)
    }
    if let epoch = parcel.barrier {
      precondition(barrier == nil || barrier == epoch, "barriers of two epochs in one alignment")
      barrier = epoch
      inputs[index].isHeld = true
      heldCount += 1
      if heldCount == inputs.count { aligned = epoch }
    }
  }

  func release() {
    for index in inputs.indices { inputs[index].isHeld = false }
    heldCount = 0
    aligned = nil
    barrier = nil
  }
}
