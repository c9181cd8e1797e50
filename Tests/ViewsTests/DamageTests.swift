import Bytes
import LMDB
import Records
import Tables
import Testing

@testable import Views

/// Damage is found and named; what is not damaged stays readable.
@Suite struct DamageTests {
  private func store() throws -> (TestStore, View<Item>) {
    let store = try TestStore()
    let view = try store.write {
      try store.views.open("items", of: Item.self, key: \.id, indexes: [.on(\.name)], in: $0)
    }
    let changes = ViewChanges(view)
    for number in 0..<3_000 as Range<Int64> { changes.upsert(Item(id: number, name: "n\(number % 9)", amount: 1)) }
    try store.commit(try changes.seal())
    try store.settle()
    return (store, view)
  }

  @Test(arguments: [true, false])
  func anIndexThatDiffersFromTheRowsIsNamedWithTheEntry(isMissing: Bool) throws {
    let (store, view) = try store()
    let index = try #require(try store.snapshot().definitions[0].indexes.first)
    try store.write { transaction in
      var entry = ByteBuffer()
      let name = OwnedCell(.string(isMissing ? "n4" : "nowhere"))
      withExtendedLifetime(name) { KeyCoding.appendIndexed(name.cell, .string, to: &entry) }
      let length = entry.count
      KeyEncoding.append(4 as Int64, to: &entry)
      var run = RunBuilder()
      var value = ByteBuffer()
      value.append(UInt16(length))
      run.append(key: entry.bytes, value: isMissing ? nil : value.bytes)
      try store.tables.append(run.finish(), to: index.table, in: transaction)
    }
    let report = try store.snapshot().verify("items")
    #expect(report.problems.count == 1)
    #expect(report.problems[0].contains(isMissing ? "is missing" : "without its row"))
    // What an index finds is compared with the row: a wrong entry gives no wrong row.
    #expect(try store.snapshot()[view].where(\.name, equals: "nowhere").count() == 0)
  }

  @Test func aDamagedGroupIsNamedAndTheOthersStayReadable() throws {
    let (store, view) = try store()
    let table = try #require(try store.snapshot().definitions[0].families.first).table
    let blocks = try store.environment.database("blocks")
    var damaged: [UInt8] = []
    var key: [UInt8] = []
    try store.environment.read { transaction in
      try transaction.withCursor(blocks) { cursor in
        var isThere = try cursor.first()
        while isThere, cursor.key.big(UInt32.self, at: 0) != table.value { isThere = try cursor.next() }
        #expect(isThere)
        key = [UInt8](cursor.key)
        damaged = [UInt8](cursor.value)
      }
    }
    damaged[damaged.count / 2] ^= 1
    try store.write { transaction in
      try key.withUnsafeBytes { key in
        try damaged.withUnsafeBytes { try transaction.put(blocks, key: key, value: $0) }
      }
    }
    let reader = try store.snapshot()[view]
    #expect { try reader.get(0 as Int64) } throws: { ($0 as? ViewError)?.code == .damaged }
    #expect(throws: ViewError.self) { try reader.all.rows() }
    #expect(try reader.get(2_999 as Int64)?.amount == 1)
    let report = try store.snapshot().verify("items")
    #expect(report.problems.count == 1)
    #expect(report.problems[0].contains("checksum"))
  }
}
