/// Records on their way through a flow: the output of one operator.
///
/// Used more than once it forks: every reader gets every record.
public struct Stream<Element: Sendable> {
  @usableFromInline let flow: Flow
  @usableFromInline let node: NodeID

  @usableFromInline
  init(flow: Flow, node: NodeID) {
    self.flow = flow
    self.node = node
  }

  /// The flow that the stream belongs to, for adding operators of one's own.
  public var builder: Flow { flow }
}

/// A stream whose records carry keys, each on the subtask that owns its key: what state and windows need.
public struct KeyedStream<Element: Sendable> {
  @usableFromInline let flow: Flow
  @usableFromInline let node: NodeID

  @usableFromInline
  init(flow: Flow, node: NodeID) {
    self.flow = flow
    self.node = node
  }

  /// The same records as a plain stream; `keyed()` on it finds the same keys.
  public var stream: Stream<Element> { Stream(flow: flow, node: node) }
}
