import Bytes
public import Dataflow
import LMDB
public import Records
public import Views

/// Everything at one checkpoint: all views and what is known of all jobs, never half an epoch.
///
/// Lives inside `Store.read`; used by one thread at a time. While it is open, the pages that it sees are kept: for the
/// time of a request, not longer.
public final class Snapshot {
  private let store: Store
  private let views: ViewSnapshot

  init(_ store: Store) throws {
    self.store = store
    views = try ViewSnapshot(store.viewSpace, try store.environment.beginRead())
  }

  /// A reader of `view`.
  ///
  /// - Throws: `ViewError.unknownView` if this snapshot does not have it; `schemaMismatch` if it lacks a column.
  public subscript<Row: Record>(view: View<Row>) -> ViewReader<Row> { get throws { try views[view] } }

  /// A reader of the view called `name` by column names, for tools.
  public func dynamic(_ name: String) throws -> DynamicReader { try views.view(named: name) }

  /// The definitions of all views.
  public var viewDefinitions: [ViewDefinition] { views.definitions }

  /// The number of the last checkpoint that it includes; grows over all jobs of the store.
  public var checkpoint: UInt64 {
    get throws { try views.withTransaction { try store.checkpoints.catalogue.lastCheckpoint(in: $0) } }
  }

  /// Every job with its last checkpoint as of this snapshot.
  public var jobs: [JobRecord] {
    get throws { try views.withTransaction { try store.checkpoints.catalogue.jobs(in: $0) } }
  }

  /// For each partition of the topic called `topic` the position up to which every job that reads it is included here:
  /// records before it are. Empty if no job reads the topic.
  public func positions(of topic: String) throws -> [Int64] {
    var positions: [Int64] = []
    for job in try jobs {
      guard let partitions = job.sources[topic] else { continue }
      if positions.isEmpty {
        positions = partitions.map(\.position)
      } else {
        for index in partitions.indices where index < positions.count {
          positions[index] = min(positions[index], partitions[index].position)
        }
      }
    }
    return positions
  }

  /// Microseconds since the newest checkpoint that it includes was committed, by the store's clock; nil if there is
  /// none.
  public var age: Int64? {
    get throws {
      try jobs.map(\.time).filter { $0 > .min }.max().map { store.options.clock().microseconds(since: $0) }
    }
  }

  var viewSnapshot: ViewSnapshot { views }
}

extension Store {
  /// Runs `body` on a consistent view of everything, on the calling thread, without ever waiting for a writer.
  ///
  /// ```swift
  /// let best = try store.read { try $0[ads].where { $0.campaign == 7 }.top(10, by: \.bid) }
  /// ```
  ///
  /// - Throws: what `body` throws; `StoreError.closed`; `LMDBError.readersFull` beyond `Options.maximumSnapshots`;
  ///   `readerExpired` at a read past `Options.maximumSnapshotAge`.
  public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
    try requireOpen()
    return try body(try Snapshot(self))
  }
}
