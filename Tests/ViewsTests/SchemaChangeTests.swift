import Bytes
import LMDB
import Records
import Testing
import Views

struct Item: Record, Equatable {
  var id: Int64
  var name: String
  var amount: Int32
}

struct ItemWithExtra: Record, Equatable {
  var id: Int64
  var name: String
  var amount: Int32
  var b: Int64
}

struct ItemWithText: Record, Equatable {
  var id: Int64
  var name: String
  var b: String?
}

/// Columns added, dropped, renamed and given defaults while rows exist.
@Suite struct SchemaChangeTests {
  private func storeWithItems(_ count: Int, merged: Bool = true) throws -> (TestStore, View<Item>) {
    let store = try TestStore()
    let view = try store.write {
      try store.views.open("items", of: Item.self, key: \.id, indexes: [.on(\.name)], in: $0)
    }
    let changes = ViewChanges(view)
    for number in 0..<count {
      changes.upsert(Item(id: Int64(number), name: "item \(number % 7)", amount: Int32(number)))
    }
    try store.commit(try changes.seal())
    if merged { try store.settle() }
    return (store, view)
  }

  @Test(arguments: [true, false])
  func anAddedColumnReadsAsItsDefaultThroughScanIndexAndStatistics(merged: Bool) throws {
    let (store, _) = try storeWithItems(2_000, merged: merged)
    let view = try store.write {
      try store.views.open(
        "items", of: ItemWithExtra.self, key: \.id, indexes: [.on(\.b)], defaults: [.column(\.b, 42)],
        policy: [.addMissingColumns, .addMissingIndexes], in: $0)
    }
    let snapshot = try store.snapshot()
    let reader = try snapshot[view]
    #expect(try reader.where { $0.b == 42 }.count() == 2_000)
    #expect(try reader.where(\.b, equals: 42).explain().hasPrefix("index b: 2000"))
    #expect(try reader.filter { $0.b == 42 }.count() == 2_000)
    #expect(try reader.where { $0.amount >= 0 && $0.b == 42 }.count() == 2_000)
    #expect(try reader.all.min(\.b) == 42)
    #expect(try reader.all.max(\.b) == 42)
    #expect(try reader.all.sum(\.b) == 84_000)
    #expect(try snapshot.verify("items").problems == [])
  }

  @Test func aDroppedColumnNeverShinesThroughALaterOneOfItsName() throws {
    let (store, _) = try storeWithItems(2_000)
    try store.write { try store.views.addColumn(.init("b", .int64, defaultValue: 7), to: "items", in: $0) }
    let wide = try store.write {
      try store.views.open("items", of: ItemWithExtra.self, key: \.id, in: $0)
    }
    let changes = ViewChanges(wide)
    for number in 0..<2_000 { changes.upsert(ItemWithExtra(id: Int64(number), name: "x", amount: 1, b: 999)) }
    try store.commit(try changes.seal())
    try store.settle()
    try store.write { try store.views.dropColumn("b", from: "items", in: $0) }
    try store.write {
      try store.views.addColumn(.init("b", .string, isOptional: true, defaultValue: "new"), to: "items", in: $0)
    }
    let text = try store.write {
      try store.views.open("items", of: ItemWithText.self, key: \.id, policy: [.ignoreOtherColumns], in: $0)
    }
    let snapshot = try store.snapshot()
    #expect(try snapshot[text].where(\.b, equals: "new").count() == 2_000)
    #expect(throws: ViewError.self) { try snapshot[wide].count() }
    // Rewriting the groups keeps it so.
    let touch = ViewChanges(text)
    for number in 0..<2_000 where number % 3 == 0 { touch.upsert(ItemWithText(id: Int64(number), name: "y", b: nil)) }
    try store.commit(try touch.seal())
    try store.settle()
    #expect(try store.snapshot()[text].where(\.b, equals: "new").count() == 2_000 - 667)
    #expect(try store.snapshot()[text].where { $0.b.isNil }.count() == 667)
    // Changes made for the dropped column are refused, not misplaced.
    let late = ViewChanges(wide)
    late.upsert(ItemWithExtra(id: 1, name: "late", amount: 1, b: 1))
    let sealed = try late.seal()
    #expect { try store.commit(sealed) } throws: { ($0 as? ViewError)?.code == .schemaMismatch }
  }

  @Test(arguments: [true, false])
  func changingADefaultDoesNotChangeRowsThatExist(merged: Bool) throws {
    let (store, view) = try storeWithItems(10, merged: merged)
    try store.write { try store.views.addColumn(.init("b", .int64, defaultValue: 1), to: "items", in: $0) }
    func make(_ ids: ClosedRange<Int64>) throws {
      let changes = ViewChanges(
        try store.write { try store.views.open("items", of: Item.self, key: \.id, policy: .ignoreOtherColumns, in: $0) }
      )
      for id in ids { changes.upsert(Item(id: id, name: "new", amount: 0)) }
      try store.commit(try changes.seal())
      if merged { try store.settle() }
    }
    try make(100...104)
    try store.write { try store.views.setDefault(2, of: "b", in: "items", in: $0) }
    try make(200...204)
    let wide = try store.write { try store.views.open("items", of: ItemWithExtra.self, key: \.id, in: $0) }
    for _ in 0..<2 {
      let reader = try store.snapshot()[wide]
      #expect(try reader.where(\.b, equals: 1).count() == 15)
      #expect(try reader.where(\.b, equals: 2).rows().map(\.id) == [200, 201, 202, 203, 204])
      try store.settle()
    }
    _ = view
  }

  @Test func addingAColumnThatExistsIsNothingAndAnotherTypeIsRefused() throws {
    let (store, _) = try storeWithItems(3)
    let before = try store.snapshot().definitions
    try store.write { try store.views.addColumn(.init("amount", .int32), to: "items", in: $0) }
    #expect(try store.snapshot().definitions == before)
    #expect {
      try store.write { try store.views.addColumn(.init("amount", .string), to: "items", in: $0) }
    } throws: { error in
      let error = error as? ViewError
      return error?.code == .columnExists && error?.column == "amount"
    }
  }

  @Test func nullsForbidANonNullColumnWithTheirCount() throws {
    let (store, _) = try storeWithItems(10)
    try store.write { try store.views.addColumn(.init("b", .string, isOptional: true), to: "items", in: $0) }
    #expect {
      try store.write { try store.views.setNonNull("b", in: "items", in: $0) }
    } throws: { error in
      let error = error as? ViewError
      return error?.code == .nullsExist && error?.message.contains("10 rows") == true
    }
    let text = try store.write {
      try store.views.open("items", of: ItemWithText.self, key: \.id, policy: .ignoreOtherColumns, in: $0)
    }
    let changes = ViewChanges(text)
    for number in 0..<10 { changes.upsert(ItemWithText(id: Int64(number), name: "n", b: "v")) }
    try store.commit(try changes.seal())
    try store.write {
      try store.views.setDefault("d", of: "b", in: "items", in: $0)
      try store.views.setNonNull("b", in: "items", in: $0)
    }
    #expect(try store.snapshot().definitions[0].column(named: "b")?.isOptional == false)
  }

  @Test func aRenamedColumnKeepsItsValuesAndItsIndex() throws {
    let (store, view) = try storeWithItems(100)
    try store.write { try store.views.renameColumn("name", to: "title", of: "items", in: $0) }
    let reader = try store.snapshot()[view]
    #expect(try reader.where(\.name, equals: "item 3").count() == 14)
    #expect(try reader.where(\.name, equals: "item 3").explain().hasPrefix("index name: 14"))
    let dynamic = try store.snapshot().view(named: "items")
    #expect(try dynamic.get(3)?["title"] == "item 3")
    #expect(throws: ViewError.self) {
      try store.write { try store.views.open("items", of: Item.self, key: \.id, in: $0) }
    }
  }

  @Test func aStructThatDoesNotFitIsRefusedByColumnAndNothingChanges() throws {
    let (store, _) = try storeWithItems(5)
    struct Wrong: Record {
      var id: Int64
      var name: String
      var amount: Int64
    }
    #expect {
      try store.write { try store.views.open("items", of: Wrong.self, key: \.id, in: $0) }
    } throws: { ($0 as? ViewError)?.column == "amount" }
    #expect {
      try store.write { try store.views.open("items", of: ItemWithExtra.self, key: \.id, in: $0) }
    } throws: { ($0 as? ViewError)?.column == "b" }
    #expect {
      try store.write { try store.views.open("items", of: Item.self, key: \.amount, in: $0) }
    } throws: { ($0 as? ViewError)?.code == .schemaMismatch }
    #expect(try store.snapshot().definitions[0].version == 2)
  }

  @Test func anUndoneChangeOfTheCatalogueLeavesNothingBehind() throws {
    struct Stop: Error {}
    let (store, view) = try storeWithItems(2_000, merged: false)
    #expect(throws: Stop.self) {
      try store.write { transaction in
        try store.views.addColumn(.init("b", .int64, defaultValue: 1), to: "items", in: transaction)
        throw Stop()
      }
    }
    let changes = ViewChanges(view)
    for number in 0..<500 { changes.upsert(Item(id: Int64(number * 3), name: "again", amount: 0)) }
    try store.commit(try changes.seal())
    try store.settle()
    try store.write { try store.views.addColumn(.init("b", .string, defaultValue: "right"), to: "items", in: $0) }
    let dynamic = try store.snapshot().view(named: "items")
    var query = DynamicQuery()
    query.conditions = [.init("b", .equal, "right")]
    #expect(try dynamic.rows(query).count == 2_000)
  }

  @Test func aDroppedViewStaysWholeForItsReaders() throws {
    let (store, view) = try storeWithItems(3_000)
    let old = try store.snapshot()
    let reader = try old[view]
    var seen = 0
    try reader.all.forEach({ _ in
      seen += 1
      if seen == 10 {
        try store.write { try store.views.dropView("items", in: $0) }
        try store.settle()
      }
      return true
    })
    #expect(seen == 3_000)
    #expect(try reader.where(\.name, equals: "item 3").count() == 429)
    let new = try store.snapshot()
    #expect(new.definitions.isEmpty)
    #expect { try new[view] } throws: { ($0 as? ViewError)?.code == .unknownView }
    let again = try store.write { try store.views.open("items", of: Item.self, key: \.id, in: $0) }
    #expect(again.definition.id != view.definition.id)
    #expect(try store.snapshot()[again].count() == 0)
    let late = ViewChanges(view)
    late.upsert(Item(id: 1, name: "", amount: 0))
    let sealed = try late.seal()
    #expect { try store.commit(sealed) } throws: { ($0 as? ViewError)?.code == .unknownView }
  }
}
