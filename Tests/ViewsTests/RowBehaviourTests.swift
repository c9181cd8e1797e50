import Bytes
import LMDB
import Records
import Testing
import Views

/// What single rows do within an epoch and over epochs, with and without merged groups.
@Suite struct RowBehaviourTests {
  private func open(_ store: TestStore) throws -> View<Product> {
    try store.write { try store.views.open(view: "products", in: $0) }
  }

  private func product(_ id: String, campaign: Int32? = 1, title: String = "t") -> Product {
    Product(
      id: id, campaign: campaign, bid: 1, budget: 2, title: title, note: "n", small: 3, big: 4, active: true)
  }

  @Test(arguments: [true, false])
  func anUpsertOfAnIndexedColumnMovesTheEntryAndLeavesOtherColumnsAlone(merged: Bool) throws {
    let store = try TestStore()
    let view = try open(store)
    let first = ViewChanges(view)
    first.upsert(product("a", campaign: 1))
    first.upsert(product("b", campaign: 1))
    try store.commit(try first.seal())
    if merged { try store.settle() }
    let second = ViewChanges(view)
    var moved = product("a", campaign: 2)
    moved.bid = 99
    second.upsert(moved, columns: try view.columns(\.campaign))
    try store.commit(try second.seal())
    let reader = try store.snapshot()[view]
    #expect(try reader.where(\.campaign, equals: 1).rows().map(\.id) == ["b"])
    #expect(try reader.where(\.campaign, equals: 2).rows().map(\.id) == ["a"])
    #expect(try reader.get("a")?.bid == 1)
    #expect(try store.snapshot().verify("products").problems == [])
  }

  @Test(arguments: ["du", "ud", "dud", "udu", "upd", "dp", "pdp", "ppp", "uu", "dd"], [true, false])
  func sequencesOnOneKeyWithinAnEpoch(steps: String, exists: Bool) throws {
    let store = try TestStore()
    let view = try open(store)
    if exists {
      let changes = ViewChanges(view)
      changes.upsert(product("k", campaign: 9, title: "old"))
      try store.commit(try changes.seal())
      try store.settle()
    }
    var expected: Product? = exists ? product("k", campaign: 9, title: "old") : nil
    let changes = ViewChanges(view)
    for (number, step) in steps.enumerated() {
      let row = product("k", campaign: Int32(number), title: "step \(number)")
      switch step {
      case "u":
        changes.upsert(row)
        expected = row
      case "p":
        changes.upsert(row, columns: try view.columns(\.title))
        var merged =
          expected
          ?? Product(id: "k", campaign: nil, bid: 0, budget: 0, title: "", note: nil, small: 0, big: 0, active: false)
        merged.title = row.title
        expected = merged
      default:
        try changes.delete("k")
        expected = nil
      }
    }
    try store.commit(try changes.seal())
    for _ in 0..<2 {
      let snapshot = try store.snapshot()
      #expect(try snapshot[view].get("k") == expected)
      #expect(try snapshot[view].all.rows() == [expected].compactMap { $0 })
      #expect(try snapshot.verify("products").problems == [])
      try store.settle()
    }
  }

  @Test func keysAreBytesNotStrings() throws {
    let store = try TestStore()
    let view = try open(store)
    let changes = ViewChanges(view)
    changes.upsert(product("\u{e9}", campaign: 1))
    changes.upsert(product("e\u{301}", campaign: 2))
    changes.upsert(product("", campaign: 3))
    changes.upsert(product(String(repeating: "long", count: 2_560), campaign: 4))
    try store.commit(try changes.seal())
    for _ in 0..<2 {
      let reader = try store.snapshot()[view]
      #expect(try reader.count() == 4)
      #expect(try reader.get("\u{e9}")?.campaign == 1)
      #expect(try reader.get("e\u{301}")?.campaign == 2)
      #expect(try reader.get("")?.campaign == 3)
      #expect(try reader.get(String(repeating: "long", count: 2_560))?.campaign == 4)
      #expect(try reader.get(String(repeating: "long", count: 2_561)) == nil)
      try store.settle()
    }
  }

  @Test func longValuesAreIndexed() throws {
    let store = try TestStore()
    let view = try open(store)
    let base = String(repeating: "x", count: 240)
    let titles = [
      base, base + "a", base + "b", base + String(repeating: "a", count: 400),
      base + String(repeating: "a", count: 399) + "b", String(repeating: "y", count: 512),
      String(repeating: "\0", count: 600),
    ]
    let changes = ViewChanges(view)
    for (number, title) in titles.enumerated() { changes.upsert(product("p\(number)", title: title)) }
    try store.commit(try changes.seal())
    for _ in 0..<2 {
      let reader = try store.snapshot()[view]
      for (number, title) in titles.enumerated() {
        #expect(try reader.where(\.title, equals: title).rows().map(\.id) == ["p\(number)"])
        for other in titles {
          func sorted(_ isIn: (String) -> Bool) -> [String] {
            titles.indices.filter { isIn(titles[$0]) }.map { "p\($0)" }
          }
          #expect(
            try reader.where { $0.title < title && $0.title >= other }.rows().map(\.id)
              == sorted {
                $0.utf8.lexicographicallyPrecedes(title.utf8) && !$0.utf8.lexicographicallyPrecedes(other.utf8)
              })
          #expect(
            try reader.where { $0.title.hasPrefix(other) }.rows().map(\.id)
              == sorted { $0.utf8.starts(with: other.utf8) })
        }
      }
      #expect(try reader.where(\.title, equals: base).explain().hasPrefix("index title"))
      try store.settle()
    }
  }

  @Test func anIndexMadeOnALiveViewEqualsTheScanThroughLaterChanges() throws {
    let store = try TestStore()
    let view = try store.write { try store.views.open("products", of: Product.self, key: \.id, in: $0) }
    let changes = ViewChanges(view)
    for number in 0..<3_000 { changes.upsert(product("p\(number)", campaign: Int32(number % 10))) }
    try store.commit(try changes.seal())
    let update = ViewChanges(view)
    for number in 0..<100 { update.upsert(product("p\(number)", campaign: 77)) }
    try store.commit(try update.seal())
    try store.write { try store.views.addIndex(on: ["campaign"], to: "products", in: $0) }
    let delete = ViewChanges(view)
    for number in 50..<150 { try delete.delete("p\(number)") }
    try store.commit(try delete.seal())
    let reader = try store.snapshot()[view]
    #expect(try reader.where(\.campaign, equals: 77).count() == 50)
    #expect(try store.snapshot().verify("products").problems == [])
    try store.write { try store.views.dropIndex(on: ["campaign"], of: "products", in: $0) }
    #expect(try store.snapshot()[view].where(\.campaign, equals: 77).explain().hasPrefix("scan"))
  }

  @Test func twoSealedEpochsInOneTransactionKeepTheirOrder() throws {
    let store = try TestStore()
    let view = try open(store)
    let first = ViewChanges(view)
    first.upsert(product("a", campaign: 1))
    let second = ViewChanges(view)
    second.upsert(product("a", campaign: 2))
    try store.commit(try first.seal(), try second.seal())
    #expect(try store.snapshot()[view].where(\.campaign, equals: 2).rows().count == 1)
    #expect(try store.snapshot()[view].where(\.campaign, equals: 1).rows().isEmpty)
    #expect(try store.snapshot().verify("products").problems == [])
  }

  @Test func mistakesInAQueryAreThrownWhenItRuns() throws {
    let store = try TestStore()
    let view = try open(store)
    let reader = try store.snapshot()[view]
    #expect(throws: ViewError.self) { try reader.get(7) }
  }
}

/// A view as the state of a fold: loaded and changed by the bytes of keys.
@Suite struct FoldSupportTests {
  @Test func rowsAreLoadedAndChangedByTheBytesOfTheirKeys() throws {
    let store = try TestStore()
    let view = try store.write {
      try store.views.open("items", of: Item.self, key: \.id, indexes: [.on(\.name)], in: $0)
    }
    var key = ByteBuffer()
    KeyEncoding.append(-5 as Int64, to: &key)
    let loader = try ViewRowLoader(view)
    #expect(try loader.load(key.bytes) == nil)
    let changes = ViewChanges(view)
    try changes.upsert(Item(id: -5, name: "folded", amount: 3), keyBytes: key.bytes)
    #expect { try changes.upsert(Item(id: 6, name: "", amount: 3), keyBytes: key.bytes) } throws: {
      ($0 as? ViewError)?.code == .keyColumn
    }
    try store.commit(try changes.seal())
    #expect(changes.isEmpty)
    #expect(try loader.load(key.bytes) == nil)
    try loader.renew()
    #expect(try loader.load(key.bytes) == Item(id: -5, name: "folded", amount: 3))
    changes.deleteRow(keyBytes: key.bytes)
    let sealed = try changes.seal()
    // A transaction that failed is repeated with the same changes.
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try store.write {
        try sealed.write(in: $0)
        throw Stop()
      }
    }
    try store.commit(sealed)
    try loader.renew()
    #expect(try loader.load(key.bytes) == nil)
    #expect(try store.snapshot().verify("items").problems == [])
  }
}
