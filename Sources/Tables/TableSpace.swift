import Bytes
public import LMDB
import Synchronization

/// The tables of one state file: sorted key/value maps to which each checkpoint appends a run, and whose runs are
/// merged into key-ordered blocks a slice at a time.
///
/// Changing calls take the write transaction and become durable with it. Reading calls take any transaction and see
/// what it sees. Safe from any thread (write transactions come one at a time).
public final class TableSpace: Sendable {
  /// The named databases that the environment must have.
  public static let databases = ["tables", "runs", "blocks"]

  /// When runs are combined and merged. The defaults are measured; tests make them small.
  public struct Options: Sendable {
    /// Runs of more than this many bytes in all are merged into a base that is less than ten times as large; into one
    /// below twice as large earlier, from half its size on.
    public var sweepFloor = 8 << 20
    /// Runs of more than this many bytes in all are merged, however large the base.
    public var sweepCeiling = 64 << 20
    /// So many neighbouring runs of like size are combined into one.
    public var combineCount = 5
    /// More live runs than this are combined whatever their size.
    public var maximumRuns = 32
    /// The size limit of a run's chunk; see `RunBuilder.chunkBytes`.
    public var chunkBytes = RunBuilder.chunkBytes
    /// The size limit of the default format's blocks.
    public var blockBytes = 4 * 4096 - 16

    public init() {}
  }

  public let environment: Environment
  public let options: Options
  let tables: Database
  let pages: TablePages
  var runs: Database { pages.runs }
  var blocks: Database { pages.blocks }

  struct Memory {
    /// Formats of tables that do not use the default one.
    var formats: [TableID: any BlockFormat] = [:]
    /// The last readers made, per table.
    var readers: [TableID: [TableReader]] = [:]
    /// Tables that may need combining, merging or freeing. More than needed is harmless; nil: all.
    var active: Set<TableID>?
    /// Tables whose merging met damage: left alone until the next opening.
    var damaged: [TableID: TableError] = [:]
  }
  let memory = Mutex(Memory())

  /// - Throws: `LMDBError.notFound` if the environment lacks one of `databases`.
  public init(environment: Environment, options: Options = Options()) throws {
    self.environment = environment
    self.options = options
    tables = try environment.database("tables")
    pages = TablePages(
      runs: try environment.database("runs"), blocks: try environment.database("blocks"))
  }

  /// Says how the blocks of `table` are laid out. Needed in every process before a table of another format than the
  /// default is merged or verified.
  public func register(_ format: any BlockFormat, for table: TableID) {
    memory.withLock { $0.formats[table] = format }
  }

  func format(of table: TableID, _ state: TableState) throws -> any BlockFormat {
    if state.format == 0 { return PackedBlocks(blockBytes: options.blockBytes) }
    guard let format = memory.withLock({ $0.formats[table] }), format.identifier == state.format else {
      throw TableError(
        .unknownFormat, table: table, detail: "no block format \(state.format) is registered for the table")
    }
    return format
  }

  /// The damage that stopped the merging of a table since the space was opened.
  public var damages: [TableError] { memory.withLock { Array($0.damaged.values) } }
}

// MARK: - State records

extension TableSpace {
  func state<T: ReadableTransaction & ~Copyable>(
    _ table: TableID, in transaction: borrowing T
  ) throws -> TableState? {
    guard let bytes = unsafe try transaction.get(tables, TableKeys.state(table)) else { return nil }
    return unsafe try TableState(bytes, table)
  }

  func existing<T: ReadableTransaction & ~Copyable>(
    _ table: TableID, in transaction: borrowing T
  ) throws -> TableState {
    guard let state = try state(table, in: transaction), !state.isDropped else {
      throw TableError(.unknownTable, table: table, detail: "there is no such table")
    }
    return state
  }

  func put(_ state: TableState, of table: TableID, in transaction: borrowing WriteTransaction) throws {
    var buffer = ByteBuffer(capacity: 1024)
    state.encode(into: &buffer)
    try unsafe transaction.put(tables, TableKeys.state(table), buffer.bytes)
  }

}

// MARK: - Transactions with keys as arrays

extension ReadableTransaction where Self: ~Copyable {
  func get(_ database: Database, _ key: [UInt8]) throws -> UnsafeRawBufferPointer? {
    try unsafe key.withUnsafeBytes { unsafe try get(database, $0) }
  }
}

extension WriteTransaction {
  func put(_ database: Database, _ key: [UInt8], _ value: UnsafeRawBufferPointer) throws {
    try unsafe key.withUnsafeBytes { unsafe try put(database, key: $0, value: value) }
  }

  func delete(_ database: Database, _ key: [UInt8]) throws {
    _ = try unsafe key.withUnsafeBytes { unsafe try delete(database, key: $0) }
  }
}
