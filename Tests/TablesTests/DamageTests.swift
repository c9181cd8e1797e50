import Foundation
import LMDB
import Tables
import Testing

/// One flipped bit: named, and the rest stays readable.
struct DamageTests {
  private static let mark = [UInt8]("a value that stands nowhere else".utf8)

  /// A file with the marked value at `key-500` among 1,000 others, in a run or in a block, one bit of the value
  /// flipped.
  private func damaged(merged: Bool, _ body: (TableSpace, TableID) throws -> Void) throws {
    let scratch = try Scratch()
    var options = TableSpace.Options()
    options.sweepFloor = 0
    options.sweepCeiling = 0
    options.chunkBytes = 8_000
    options.blockBytes = 4_000
    var table = TableID(value: 0)
    do {
      let environment = try scratch.open()
      let space = try TableSpace(environment: environment, options: options)
      var changes: [Key: [UInt8]?] = [:]
      for number in 0..<1_000 { changes[Key("key-\(number)")] = .some([UInt8]("value \(number)".utf8)) }
      changes[Key("key-500")] = .some(Self.mark)
      table = try environment.write { transaction in
        let table = try space.create(in: transaction)
        try space.append(run(changes, chunkBytes: options.chunkBytes), to: table, in: transaction)
        return table
      }
      if merged { while try environment.write({ try space.maintain(in: $0) }).hasMore {} }
    }
    try flipBits(in: scratch.file)
    let environment = try scratch.open()
    try body(try TableSpace(environment: environment, options: options), table)
  }

  /// Flips a bit wherever the mark stands: in live pages and in freed ones.
  private func flipBits(in path: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    var from = bytes.startIndex
    var count = 0
    while let range = bytes.range(of: Data(Self.mark), in: from..<bytes.endIndex) {
      bytes[range.lowerBound + 5] ^= 1
      from = range.upperBound
      count += 1
    }
    #expect(count > 0)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.write(contentsOf: bytes)
    try file.close()
  }

  @Test func aDamagedBlockIsNamedAndTheOthersAreRead() throws {
    try damaged(merged: true) { space, table in
      try space.environment.read { transaction in
        let report = try space.verify(table, in: transaction)
        #expect(report.damages.count == 1)
        #expect(report.damages.first?.place.contains("block below 0x6b65792d35") == true)
        #expect(report.damages.first?.table == table)
        let reader = try space.reader(table, in: transaction)
        #expect(throws: TableError.self) { try reader.get(Key("key-500"), in: transaction) }
        let other = try reader.get(Key("key-10"), in: transaction)
        #expect(other == [UInt8]("value 10".utf8))
      }
    }
  }

  @Test func aDamagedRunIsNamed() throws {
    try damaged(merged: false) { space, table in
      try space.environment.read { transaction in
        let report = try space.verify(table, in: transaction)
        #expect(report.damages.count == 1)
        #expect(report.damages.first?.place.hasPrefix("run 1, chunk ") == true)
        #expect(throws: TableError.self) { _ = try space.reader(table, in: transaction) }
      }
    }
  }

  @Test func mergingLeavesDamageAloneAndGoesOnWithOtherTables() throws {
    try damaged(merged: true) { space, table in
      var changes: [Key: [UInt8]?] = [:]
      for number in 0..<1_000 { changes[Key("key-\(number)")] = .some([UInt8]("new \(number)".utf8)) }
      let other = try space.environment.write { transaction in
        let other = try space.create(in: transaction)
        try space.append(run(changes), to: table, in: transaction)
        try space.append(run(changes), to: other, in: transaction)
        return other
      }
      while try space.environment.write({ try space.maintain(in: $0) }).hasMore {}
      #expect(space.damages.count == 1 && space.damages.first?.table == table)
      try space.environment.read { transaction in
        // The changes wait in their run, in front of the damage.
        let found = try space.reader(table, in: transaction).get(Key("key-500"), in: transaction)
        #expect(found == [UInt8]("new 500".utf8))
        let runs = try space.reader(other, in: transaction).runs.count
        #expect(runs == 0)
      }
    }
  }
}
