import Bytes
public import Dataflow
public import Records
public import Views

/// A view as a job's sink: every record is a row, the last one of a key wins.
public struct ViewSink<Row: Record>: Sink {
  public typealias Element = Row
  let view: View<Row>

  public var name: String { "upsert into \(view.name)" }
  public var ownedResources: [String] { view.ownedResources }

  public func open(_ context: OperatorContext) throws -> ViewSinkWriter<Row> { ViewSinkWriter(view) }
}

/// Gathers one subtask's rows until the barrier.
public final class ViewSinkWriter<Row: Record>: SinkWriter {
  public typealias Element = Row
  private let changes: ViewChanges<Row>

  init(_ view: View<Row>) { changes = ViewChanges(view) }

  public func write(_ batch: consuming Batch<Row>) throws {
    for index in 0..<batch.count { changes.upsert(batch[index]) }
  }

  public func seal(epoch: UInt64) throws -> [any SealedPart] {
    changes.isEmpty ? [] : [ViewPart(changes: try changes.seal())]
  }
}

extension Stream where Element: Record {
  /// Puts every record into `view` as the row of its primary key, replacing all columns of the struct.
  ///
  /// Records are first brought to the subtask that owns their key, so rows of one key are written in the order in which
  /// they come from one subtask.
  public func upsert(into view: View<Element>) {
    let plan = view.plan
    keyed(by: { row -> [UInt8] in
      var key = ByteBuffer(capacity: 32)
      unsafe withUnsafePointer(to: row) { unsafe plan.appendKey(of: UnsafeRawPointer($0), to: &key) }
      return key.array
    })
    .sink(ViewSink(view: view))
  }
}
