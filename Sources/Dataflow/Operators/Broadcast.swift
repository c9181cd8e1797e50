/// A stream whose every record reaches every subtask, in the same order on all of them: rules, settings, small tables.
public struct BroadcastStream<Element: Sendable> {
  @usableFromInline let stream: Stream<Element>
  @usableFromInline let holdsTimeBack: Bool

  @usableFromInline
  init(_ stream: Stream<Element>, holdsTimeBack: Bool) {
    self.stream = stream
    self.holdsTimeBack = holdsTimeBack
  }
}

extension Stream {
  /// The records for every subtask. One subtask puts them into the order in which all get them.
  ///
  /// - Parameter holdsTimeBack: whether event time at the operator that uses them waits for this stream's watermark.
  ///   Without, timers and windows go by the other stream alone.
  @inlinable
  public func broadcast(holdsTimeBack: Bool = true) -> BroadcastStream<Element> {
    let description = OperatorDescription(kind: "broadcast")
    let ordered = flow.addExchange(
      description, after: self, key: { _ = $0.takeKeys() }, route: { batch, sender in sender.send(batch, to: 0) })
    let spread = flow.addExchange(
      description, after: ordered.stream, key: { _ = $0.takeKeys() },
      route: { batch, sender in sender.sendToAll(batch) })
    return BroadcastStream(spread.stream, holdsTimeBack: holdsTimeBack)
  }
}

extension ExchangeSender {
  /// Takes a batch and moves all of it to one subtask.
  @usableFromInline
  func send(_ batch: consuming Batch<Element>, to target: Int) {
    for index in 0..<batch.count {
      let time = batch.timestamp(index)
      unsafe gathering[target].append(batch.moveOut(index), at: time)
    }
    batch.disown()
    dispatch()
  }

  /// Takes a batch and copies it to every subtask.
  @usableFromInline
  func sendToAll(_ batch: consuming Batch<Element>) {
    for target in 0..<width {
      for index in 0..<batch.count { unsafe gathering[target].append(batch[index], at: batch.timestamp(index)) }
    }
    dispatch()
  }
}
