public import Bytes
import LMDB
import Synchronization

/// Gathers records in memory, those of committed epochs apart: what an exactly-once reader would have seen.
public final class CollectSink<Element: Sendable>: Sink {
  struct State {
    var seen: [(element: Element, time: Timestamp)] = []
    var committed: [(element: Element, time: Timestamp)] = []
  }

  public let name: String
  public let ownedResources: [String]
  private let state = Mutex(State())

  public init(_ name: String, owning resources: [String] = []) {
    self.name = name
    ownedResources = resources
  }

  /// Every record that came, repeats after a crash included.
  public var seen: [Element] { state.withLock { $0.seen.map(\.element) } }
  /// The records of committed epochs.
  public var committed: [Element] { state.withLock { $0.committed.map(\.element) } }
  /// Their timestamps.
  public var committedTimes: [Timestamp] { state.withLock { $0.committed.map(\.time) } }

  public func open(_ context: OperatorContext) throws -> Writer { Writer(self) }

  /// One subtask's gathering.
  public final class Writer: SinkWriter {
    private let sink: CollectSink
    private var open: [(element: Element, time: Timestamp)] = []

    init(_ sink: CollectSink) { self.sink = sink }

    public func write(_ batch: consuming Batch<Element>) throws {
      var records: [(element: Element, time: Timestamp)] = []
      for index in 0..<batch.count { records.append((batch[index], batch.timestamp(index))) }
      sink.state.withLock { $0.seen += records }
      open += records
    }

    public func seal(epoch: UInt64) throws -> [any SealedPart] {
      defer { open = [] }
      return [Part(sink: sink, records: open)]
    }
  }

  private struct Part: SealedPart {
    let sink: CollectSink
    let records: [(element: Element, time: Timestamp)]

    func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws {}
    func committed(checkpoint: UInt64) { sink.state.withLock { $0.committed += records } }
  }
}
