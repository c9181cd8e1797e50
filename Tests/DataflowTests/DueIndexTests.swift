import Bytes
import LMDB
import Tables
import Testing

@testable import Dataflow

@Suite struct DueIndexTests {
  /// A key with a number in front, as it lies in a table.
  private func row(_ number: Int64, _ key: Int64) -> [UInt8] {
    var base = KeyColumn()
    base.append(key)
    var keys = KeyColumn()
    keys.append(number, width: 8, before: base, at: 0)
    return keys.withBytes(at: 0) { [UInt8(base.hash(at: 0).keyGroup)] + [UInt8]($0) }
  }

  private func append(_ rows: [[UInt8]], to table: TableID, _ store: TestStore) throws {
    try store.checkpoints.write { [checkpoints = store.checkpoints] transaction in
      var builder = RunBuilder()
      for row in rows.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        row.withUnsafeBytes { key in [UInt8(1)].withUnsafeBytes { builder.append(key: key, value: $0) } }
      }
      try checkpoints.tables.append(builder.finish(), to: table, in: transaction)
    }
  }

  private func keys(_ waiting: DueIndex.Waiting) -> [Int64] {
    (0..<waiting.keys.count).map { index in
      waiting.keys.withBytes(at: index) { bytes in
        Int64.decodeKey(UnsafeRawBufferPointer(rebasing: bytes[8...])) ?? -1
      }
    }.sorted()
  }

  @Test func whatEarlierRunsLeftIsFoundWhenItIsDue() throws {
    let store = try TestStore()
    let table = try store.checkpoints.write { [tables = store.checkpoints.tables] in try tables.create(in: $0) }
    let numbers: [Int64] = [.min, -5, 3, 3, 9, 100, .max]
    try append(numbers.enumerated().map { row($1, Int64($0)) }, to: table, store)
    let snapshot = StateSnapshot(store.checkpoints.environment)
    let stored = try StoredDues(
      "state", table, store.checkpoints.tables, snapshot, groups: 0..<128, width: 8)
    let index = DueIndex(stored)
    #expect(index.earliest == .min)
    var found: [Int64: [Int64]] = [:]
    while let due = try index.next(upTo: 9) { found[due.number] = keys(due.waiting) }
    #expect(found == [.min: [0], -5: [1], 3: [2, 3], 9: [4]])
    #expect(index.earliest == 100)
    #expect(index.firstKnown(atLeast: .min) == nil)
    #expect(try index.next(upTo: 99) == nil)
    #expect(try index.next(upTo: .max).map { keys($0.waiting) } == [5])
    #expect(try index.next(upTo: .max).map { keys($0.waiting) } == [6])
    #expect(try index.next(upTo: .max) == nil)
    #expect(index.earliest == nil)
  }

  @Test func whatThisRunAddedIsThereOnce() throws {
    let store = try TestStore()
    let table = try store.checkpoints.write { [tables = store.checkpoints.tables] in try tables.create(in: $0) }
    try append([row(5, 1), row(7, 1)], to: table, store)
    let snapshot = StateSnapshot(store.checkpoints.environment)
    let index = DueIndex(
      try StoredDues("state", table, store.checkpoints.tables, snapshot, groups: 0..<128, width: 8))
    // Added and committed in this run.
    let added = row(5, 2)
    var column = KeyColumn()
    added.withUnsafeBytes { column.append(numbered: UnsafeRawBufferPointer(rebasing: $0[1...]), width: 8) }
    index.add(column, at: 0, width: 8)
    try append([added], to: table, store)
    snapshot.renew()
    try index.find(upTo: 6)
    #expect(index.known(from: 0, through: 10).map(keys) == [[1, 2]])
    #expect(index.firstKnown(atLeast: 6) == nil)
    try index.find(upTo: 7)
    #expect(index.known(from: .min, through: .max).map(keys) == [[1, 2], [1]])
  }

  @Test func onlyTheSubtasksOwnGroupsAreLookedAt() throws {
    let store = try TestStore()
    let table = try store.checkpoints.write { [tables = store.checkpoints.tables] in try tables.create(in: $0) }
    try append((0..<500).map { row($0 % 7, $0) }, to: table, store)
    var found: [Int64] = []
    for groups in [0..<40, 40..<41, 41..<128] {
      let snapshot = StateSnapshot(store.checkpoints.environment)
      let index = DueIndex(
        try StoredDues("state", table, store.checkpoints.tables, snapshot, groups: groups, width: 8))
      while let due = try index.next(upTo: .max) { found += keys(due.waiting) }
    }
    #expect(found.sorted() == Array(0..<500))
  }
}
