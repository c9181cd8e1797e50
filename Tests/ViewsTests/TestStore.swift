import Bytes
import Glibc
import LMDB
import Records
import Tables
import Views

/// A state file in a temporary directory that is removed when the object goes.
final class TestStore {
  let folder: String
  private(set) var environment: Environment
  private(set) var tables: TableSpace
  private(set) var views: ViewSpace
  private let options: TableSpace.Options

  /// - Parameter smallMerges: whether runs are merged early and in small slices, so that tests meet half-merged tables.
  init(smallMerges: Bool = true) throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(base)/views-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw Failure(what: "mkdtemp: errno \(errno)") }
    folder = String(cString: made)
    var options = TableSpace.Options()
    if smallMerges {
      options.sweepFloor = 1 << 10
      options.combineCount = 3
      options.maximumRuns = 6
    }
    self.options = options
    (environment, tables, views) = try Self.open(folder, options)
  }

  struct Failure: Error { let what: String }

  private static func open(
    _ folder: String, _ options: TableSpace.Options
  ) throws -> (Environment, TableSpace, ViewSpace) {
    let names = TableSpace.databases + ViewSpace.databases
    let environment = try Environment.open(
      at: folder + "/state.mdb", .init(mapSize: 1 << 30, databases: names, durability: .unsynced))
    let tables = try TableSpace(environment: environment, options: options)
    return (environment, tables, try ViewSpace(environment: environment, tables: tables))
  }

  /// Forgets everything in memory and opens the file again.
  func reopen() throws { (environment, tables, views) = try Self.open(folder, options) }

  deinit {
    for name in ["state.mdb", "state.mdb-lock"] { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R { try environment.write(body) }

  /// One epoch: the changes, then a slice of maintenance.
  func commit(_ changes: SealedViewChanges..., maintenance: Int = 1 << 12) throws {
    try environment.write { transaction in
      for change in changes { try change.write(in: transaction) }
      try views.prepare(in: transaction)
      _ = try tables.maintain(in: transaction, budget: MaintenanceBudget(bytes: maintenance))
    }
  }

  /// Merges until nothing is left to merge.
  func settle() throws {
    for _ in 0..<10_000 {
      let result = try environment.write { transaction in
        try views.prepare(in: transaction)
        return try tables.maintain(in: transaction)
      }
      if !result.hasMore { return }
    }
  }

  func snapshot() throws -> ViewSnapshot { try ViewSnapshot(views, environment.beginRead()) }
}

/// SplitMix64: small and the same everywhere.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
