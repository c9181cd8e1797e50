import LMDB
import Tables
import Testing

struct CatalogueTests {
  private func changes(_ range: Range<Int>, _ value: String = "v") -> [Key: [UInt8]?] {
    var changes: [Key: [UInt8]?] = [:]
    for number in range { changes[Key("key-\(number)")] = .some([UInt8]("\(value)\(number)".utf8)) }
    return changes
  }

  @Test func namesAreUniqueRenamedAndFreedByDropping() throws {
    let scratch = try Scratch()
    let space = try TableSpace(environment: scratch.open())
    try space.environment.write { transaction in
      let one = try space.create(named: "one", in: transaction)
      let two = try space.tableOrNew(named: "two", in: transaction)
      let again = try space.tableOrNew(named: "two", in: transaction)
      #expect(again == two && one != two)
      #expect(throws: TableError.self) { _ = try space.create(named: "one", in: transaction) }
      #expect(throws: TableError.self) { try space.rename("one", to: "two", in: transaction) }
      #expect(throws: TableError.self) { _ = try space.create(named: "", in: transaction) }
      try space.rename("one", to: "first", in: transaction)
      let names = try space.names(in: transaction)
      #expect(names.map(\.name) == ["first", "two"] && names.map(\.table) == [one, two])
      try space.drop(one, in: transaction)
      let newer = try space.create(named: "first", in: transaction)
      #expect(newer.value > two.value)
    }
  }

  @Test func aDroppedTableStaysWholeForOpenSnapshotsAndItsPagesAreFreedInSlices() throws {
    let scratch = try Scratch()
    var options = TableSpace.Options()
    options.sweepFloor = 20_000
    options.sweepCeiling = 20_000
    options.chunkBytes = 4_000
    let space = try TableSpace(environment: scratch.open(), options: options)
    let table = try space.environment.write { try space.create(named: "t", in: $0) }
    for round in 0..<10 {
      try space.environment.write { transaction in
        try space.append(
          run(changes(round * 1_000..<round * 1_000 + 1_500), chunkBytes: 4_000), to: table, in: transaction)
        _ = try space.maintain(in: transaction)
      }
    }
    try space.environment.read { snapshot in
      let reader = try space.reader(table, in: snapshot)
      try space.environment.write { try space.drop(table, in: $0) }
      var slices = 1
      while try space.environment.write({ try space.maintain(in: $0, budget: .init(bytes: 5_000)) }).hasMore {
        slices += 1
      }
      #expect(slices > 3)
      let rows = try reader.rows(in: snapshot).count
      #expect(rows == 10_500)
    }
    try space.environment.read { transaction in
      #expect(throws: TableError.self) { _ = try space.reader(table, in: transaction) }
      for name in TableSpace.databases.dropFirst() {
        let left = try transaction.statistics(space.environment.database(name)).entries
        #expect(left == 0)
      }
    }
  }

  @Test func notesBelongToTheirTable() throws {
    let scratch = try Scratch()
    let space = try TableSpace(environment: scratch.open())
    try space.environment.write { transaction in
      let one = try space.create(in: transaction)
      let two = try space.create(in: transaction)
      for number in [3, 0, 255] as [UInt8] {
        try unsafe [number, 1].withUnsafeBytes { try unsafe space.setNote(number, $0, of: one, in: transaction) }
      }
      let notes = try space.notes(of: one, in: transaction)
      #expect(notes.map(\.number) == [0, 3, 255] && notes.map(\.bytes) == [[0, 1], [3, 1], [255, 1]])
      let none = try space.notes(of: two, in: transaction)
      #expect(none.isEmpty)
    }
  }

  @Test func runsStayFewUnderManySmallEpochsWithoutSweeps() throws {
    let scratch = try Scratch()
    let space = try TableSpace(environment: scratch.open())
    let table = try space.environment.write { try space.create(in: $0) }
    var most = 0
    for round in 0..<300 {
      try space.environment.write { transaction in
        try space.append(run(changes(round..<round + 20, "r\(round)-")), to: table, in: transaction)
        _ = try space.maintain(in: transaction, budget: .init(sweeps: false))
      }
      most = max(most, try space.environment.read { try space.reader(table, in: $0).runs.count })
    }
    #expect(most <= 40)
    // Without a call of `maintain` in between, appending keeps the number bounded.
    for round in 0..<100 {
      try space.environment.write { try space.append(run(changes(round..<round + 2, "s")), to: table, in: $0) }
    }
    try space.environment.read { transaction in
      let reader = try space.reader(table, in: transaction)
      #expect(reader.runs.count <= 64)
      let value = try reader.get(Key("key-99"), in: transaction)
      #expect(value == [UInt8]("s99".utf8))
    }
  }
}
