import Bytes
import LMDB
import Records
import Testing
import Views

private enum Kind: String, Codable, Sendable, ColumnConvertible { case shoe, hat }
private enum Level: Int16, Codable, Sendable, ColumnConvertible {
  case low = -1
  case high = 1
}

private struct Article: Record, Equatable {
  var id: Bytes16
  var kind: Kind
  var level: Level?
  var price: Float
  var stock: UInt16?
  var data: [UInt8]
  var at: Timestamp?
  var flag: Bool?
}

/// Types of columns, the order of values, explanations and untyped access.
@Suite struct QueryTests {
  private func article(_ number: UInt64) -> Article {
    Article(
      id: Bytes16(high: 0, low: number), kind: number % 2 == 0 ? .shoe : .hat, level: number % 3 == 0 ? nil : .high,
      price: Float(number) / 2, stock: number % 5 == 0 ? nil : UInt16(number), data: [UInt8(number % 7)],
      at: number % 4 == 0 ? nil : Timestamp(microseconds: Int64(number)), flag: number % 2 == 0 ? nil : number % 3 == 0)
  }

  @Test(arguments: [true, false])
  func enumsOptionalsAndBytesComeBack(merged: Bool) throws {
    let store = try TestStore()
    let view = try store.write {
      try store.views.open(
        "articles", of: Article.self, key: \.id, indexes: [.on(\.kind), .on(\.level, \.stock)], in: $0)
    }
    let changes = ViewChanges(view)
    for number in 0..<100 as Range<UInt64> { changes.upsert(article(number)) }
    try store.commit(try changes.seal())
    if merged { try store.settle() }
    let reader = try store.snapshot()[view]
    #expect(try reader.all.rows() == (0..<100).map(article))
    #expect(try reader.get(Bytes16(high: 0, low: 7)) == article(7))
    #expect(
      try reader.multiGet([Bytes16(high: 0, low: 9), Bytes16(high: 1, low: 0), Bytes16(high: 0, low: 2)]) == [
        article(9), nil, article(2),
      ])
    #expect(try reader.where { $0.kind == .hat }.count() == 50)
    #expect(try reader.where { $0.kind == .hat }.explain().hasPrefix("index kind"))
    #expect(try reader.where { $0.level == nil }.count() == 34)
    #expect(try reader.where { $0.level == .high && $0.stock > 50 }.explain().hasPrefix("index level+stock"))
    #expect(
      try reader.where { $0.level == .high && $0.stock > 50 }.count()
        == (0..<100).map(article).filter { $0.level == .high && $0.stock ?? 0 > 50 }.count)
    #expect(try reader.where { $0.flag != true }.count() == (0..<100).map(article).filter { $0.flag != true }.count)
    #expect(
      try reader.where { $0.stock < 10 }.count()
        == (0..<100).map(article).filter { $0.stock.map { $0 < 10 } ?? false }.count)
    #expect(try reader.where { $0.stock.isOne(of: [3, 4, nil]) }.count() == 22)
    #expect(try reader.where(\.price, in: 10...20).count() == 21)
    #expect(try reader.all.sum(\.stock) == Int64((0..<100).filter { $0 % 5 != 0 }.reduce(0, +)))
    #expect(try reader.all.sum(\.price) == 2_475)
    #expect(try reader.all.top(3, by: \.at, ascending: true).map(\.id.low) == [0, 4, 8])
    #expect(try reader.all.top(2, by: \.stock).map(\.id.low) == [99, 98])
    #expect(try reader.all.max(\.stock) == 99)
    #expect(try reader.all.rows(limit: 3).count == 3)
    #expect(try reader.filter { $0.data == [3] }.count() == 14)
  }

  @Test func rowsAreReadByNamesWithoutTheirType() throws {
    let store = try TestStore()
    let view = try store.write { try store.views.open("articles", of: Article.self, key: \.id, in: $0) }
    let changes = ViewChanges(view)
    for number in 0..<50 as Range<UInt64> { changes.upsert(article(number)) }
    try store.commit(try changes.seal())
    let reader = try store.snapshot().view(named: "articles")
    #expect(try reader.rowCount() == 50)
    var query = DynamicQuery()
    query.conditions = [.init("kind", .equal, "hat"), .init("price", .greater, 10)]
    query.columns = ["price", "stock"]
    query.order = "price"
    query.descending = true
    query.limit = 2
    #expect(try reader.rows(query).map(\.values) == [[24.5, 49], [23.5, 47]])
    query.limit = nil
    #expect(try reader.rows(query).count == 15)
    query.order = nil
    #expect(try reader.rows(query).first?.values == [10.5, 21])
    query.conditions = [.init("nowhere", .equal, 1)]
    #expect { try reader.rows(query) } throws: { ($0 as? ViewError)?.code == .unknownColumn }
    query.conditions = [.init("price", .equal, "text")]
    #expect { try reader.rows(query) } throws: { ($0 as? ViewError)?.code == .invalidQuery }
    #expect { try store.snapshot().view(named: "other") } throws: { ($0 as? ViewError)?.code == .unknownView }
  }

  @Test func integerSumsNeverWrap() throws {
    struct Big: Record {
      var id: Int64
      var value: Int64
    }
    let store = try TestStore()
    let view = try store.write { try store.views.open("big", of: Big.self, key: \.id, in: $0) }
    let changes = ViewChanges(view)
    for number in 0..<4 as Range<Int64> { changes.upsert(Big(id: number, value: number < 2 ? .max : .min)) }
    try store.commit(try changes.seal())
    for _ in 0..<2 {
      let reader = try store.snapshot()[view]
      #expect(try reader.all.sum(\.value) == -2)
      #expect { try reader.where { $0.value > 0 }.sum(\.value) } throws: { ($0 as? ViewError)?.code == .invalidQuery }
      #expect(try reader.where { $0.id >= 1 && $0.id < 3 }.rows().map(\.id) == [1, 2])
      try store.settle()
    }
  }

  @Test func aSnapshotStaysAsItWasUntilItIsRenewed() throws {
    let store = try TestStore()
    let view = try store.write { try store.views.open("items", of: Item.self, key: \.id, in: $0) }
    func put(_ amount: Int32) throws {
      let changes = ViewChanges(view)
      for id in 0..<500 as Range<Int64> { changes.upsert(Item(id: id, name: "n", amount: amount)) }
      try store.commit(try changes.seal())
    }
    try put(1)
    let snapshot = try store.snapshot()
    for amount in 2...30 as ClosedRange<Int32> {
      try put(amount)
      #expect(try snapshot[view].where(\.amount, equals: 1).count() == 500)
    }
    try snapshot.renew()
    #expect(try snapshot[view].where(\.amount, equals: 30).count() == 500)
  }
}
