import Bytes
import LMDB
import Records
import Tables
import Testing

@testable import Views

/// The group codec alone: what goes in comes out, and no bytes make it read where it should not.
@Suite struct GroupCodecTests {
  static let types: [ColumnType] = [.bool, .int64, .uint64, .float, .double, .string, .bytes]

  /// Values that provoke every encoding and its edges.
  static func samples(_ type: ColumnType) -> [ColumnValue] {
    switch type {
    case .bool: [.null, .bool(false), .bool(true)]
    case .uint64: [.null, .unsigned(0), .unsigned(.max), .unsigned(1 << 63)]
    case .float, .double: [.null, .real(0), .real(-0.0), .real(.nan), .real(-.infinity), .real(1.5)]
    case .string: [.null, .string(""), .string("a"), .string("\u{e9}"), .string(String(repeating: "x", count: 300))]
    case .bytes: [.null, .bytes([]), .bytes([0, 255]), .bytes([UInt8](repeating: 7, count: 70_000))]
    default: [.null, .integer(0), .integer(-1), .integer(255), .integer(70_000), .integer(.min), .integer(.max)]
    }
  }

  static func schema(_ types: [ColumnType]) -> ViewSchema {
    var columns = [
      ColumnDefinition(id: 0, name: "key", type: .string, isOptional: false, added: 1, initialDefault: .string(""))
    ]
    for (index, type) in types.enumerated() {
      columns.append(
        ColumnDefinition(
          id: UInt32(index + 1), name: "c\(index)", type: type, isOptional: true, added: 1, initialDefault: .null))
    }
    return ViewSchema(
      ViewDefinition(
        id: 9, name: "test", version: 1, columns: columns, families: [.init(id: 0, table: TableID(value: 1))],
        indexes: [],
        nextColumn: UInt32(columns.count), nextIndex: 1))
  }

  /// The groups that rows make, given as keys and values by column.
  static func groups(_ schema: ViewSchema, _ rows: [(key: String, values: [ColumnValue])]) throws -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    for row in rows {
      let maskBytes = row.values.count / 8 + 1
      var buffer = ByteBuffer()
      var writer = RowChangeWriter(kind: .upsert, version: 1, maskBytes: maskBytes, into: &buffer)
      for byte in 0..<maskBytes {
        var mask: UInt8 = 0
        for bit in 0..<8 where (1...row.values.count).contains(byte * 8 + bit) { mask |= 1 << UInt8(bit) }
        writer.setMask(byte, mask, into: &buffer)
      }
      writer.reserveSlots(into: &buffer)
      for (index, value) in row.values.enumerated() {
        let owned = OwnedCell(value)
        withExtendedLifetime(owned) {
          writer.append(
            owned.cell, UInt32(index + 1), isBytes: schema.columns[index + 1].storage == .bytes, into: &buffer)
        }
      }
      payloads.append(buffer.array)
    }
    let keys = rows.map { Array($0.key.utf8) }
    var made: [[UInt8]] = []
    var changes: [GroupMerger.Change] = []
    // Kept alive for the merge by hand: the merger takes pointers.
    let memory = ByteArena()
    for index in rows.indices {
      changes.append(
        .init(key: memory.keep(keys[index]), change: try RowChange(memory.keep(payloads[index]))))
    }
    try GroupMerger(schema: schema, family: 0).merge([], changes) { _, _, _, bytes in made.append([UInt8](bytes)) }
    withExtendedLifetime(memory) {}
    return made
  }

  @Test(arguments: types)
  func everySmallColumnComesBack(type: ColumnType) throws {
    let schema = Self.schema([type])
    let samples = Self.samples(type)
    // All columns of up to three rows over the samples.
    for rows in 1...3 {
      var choice = [Int](repeating: 0, count: rows)
      while true {
        let table = choice.enumerated().map { (key: "k\($0.offset)", values: [samples[$0.element]]) }
        try Self.check(schema, table)
        var place = 0
        while place < rows {
          choice[place] += 1
          if choice[place] < samples.count { break }
          choice[place] = 0
          place += 1
        }
        if place == rows { break }
      }
    }
  }

  static func check(_ schema: ViewSchema, _ table: [(key: String, values: [ColumnValue])]) throws {
    var row = 0
    for group in try groups(schema, table) {
      try group.withUnsafeBytes { bytes in
        let group = try GroupCheck.check(bytes)
        #expect(group.viewID == 9)
        for index in 0..<group.rows {
          var key = ByteBuffer()
          group.appendKey(index, to: &key)
          #expect(key.array == Array(table[row].key.utf8))
          #expect(group.lowerBound(key.bytes) == (index, true))
          for start in Set([0, index / 2, index]) { #expect(group.lowerBound(key.bytes, from: start) == (index, true)) }
          key.append(0 as UInt8)
          for start in [0, index, index + 1] { #expect(group.lowerBound(key.bytes, from: start) == (index + 1, false)) }
          key.truncate(to: key.count - 1)
          for (column, value) in table[row].values.enumerated() {
            let found = group.entry(column).cell(index)
            let back = ColumnValue(found, schema.columns[column + 1].type)
            #expect(same(back, value), "\(back) instead of \(value)")
          }
          row += 1
        }
        for (position, column) in schema.columns.dropFirst().enumerated() {
          try checkStatistics(group.entry(position), column.storage)
        }
      }
    }
    #expect(row == table.count)
  }

  private static func checkStatistics(_ column: GroupColumn, _ storage: ColumnType.Storage) throws {
    var nulls = 0
    for row in 0..<column.rows {
      let cell = column.cell(row)
      if cell.isNull {
        nulls += 1
        continue
      }
      #expect(CellOrder.compare(column.cell(column.minRow), cell, storage) <= 0)
      #expect(CellOrder.compare(column.cell(column.maxRow), cell, storage) >= 0)
    }
    #expect(nulls == column.nullCount)
  }

  private static func same(_ left: ColumnValue, _ right: ColumnValue) -> Bool {
    if case .real(let one) = left, case .real(let other) = right {
      return one.bitPattern == other.bitPattern || (one.isNaN && other.isNaN)
    }
    return left == right
  }

  @Test(arguments: 1...6)
  func randomGroupsComeBack(seed: UInt64) throws {
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let schema = Self.schema(Self.types)
    var table: [(key: String, values: [ColumnValue])] = []
    for number in 0..<Int.random(in: 1...2_500, using: &random) {
      let values = Self.types.map { type -> ColumnValue in
        let samples = Self.samples(type)
        let sample = samples[Int.random(in: 0..<samples.count, using: &random)]
        if case .bytes(let bytes) = sample, bytes.count > 1_000, Int.random(in: 0..<40, using: &random) > 0 {
          return .null
        }
        return sample
      }
      table.append(
        (
          key: "key \(1_000_000 + number * 3)" + (seed % 2 == 0 ? String(repeating: "y", count: number % 4) : ""),
          values: values
        ))
    }
    try Self.check(schema, table)
  }

  @Test func everyFlippedByteIsRefusedOrHarmless() throws {
    let schema = Self.schema(Self.types)
    let table = (0..<40).map { number in
      (key: "k\(100 + number)", values: Self.types.map { Self.samples($0)[number % 3] })
    }
    let group = try #require(try Self.groups(schema, table).first)
    // The checksum catches every single change.
    for index in 0..<group.count - 8 {
      var damaged = group
      damaged[index] ^= 0x41
      #expect(throws: ViewError.self) { try damaged.withUnsafeBytes { _ = try GroupCheck.check($0) } }
    }
    for count in 0..<group.count {
      #expect(throws: ViewError.self) { try group.withUnsafeBytes { _ = try GroupCheck.check($0.slice(0, count)) } }
    }
  }

  @Test(arguments: 1...4)
  func hostileBytesWithAGoodChecksumAreRefusedOrStayInside(seed: UInt64) throws {
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let schema = Self.schema(Self.types)
    let table = (0..<40).map { number in
      (key: "k\(100 + number)", values: Self.types.map { Self.samples($0)[number % 3] })
    }
    let group = try #require(try Self.groups(schema, table).first)
    let head = GroupLayout.headerSize + Self.types.count * GroupLayout.entrySize
    for _ in 0..<4_000 {
      var hostile = group
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let limit = Bool.random(using: &random) ? head : hostile.count
        hostile[Int.random(in: 12..<limit, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let crc = hostile.withUnsafeBytes { CRC32C.checksum($0.slice(8, $0.count - 8)) }
      withUnsafeBytes(of: crc.littleEndian) { for index in 0..<4 { hostile[4 + index] = $0[index] } }
      hostile.withUnsafeBytes { bytes in
        guard let group = try? GroupCheck.check(bytes) else { return }
        // What was let through can be read whole, and every value lies in the bytes.
        for position in 0..<group.columns {
          let column = group.entry(position)
          for row in 0..<group.rows {
            let cell = column.cell(row)
            guard !cell.isNull, ColumnType(rawValue: column.typeCode)?.storage == .bytes else { continue }
            guard let start = cell.bytes.baseAddress, let base = bytes.baseAddress else { continue }
            let offset = start - base
            #expect(offset >= 0 && offset + cell.bytes.count <= bytes.count)
          }
        }
      }
    }
  }

  @Test func hostileRowChangesAreRefused() {
    for bytes in [[], [2], [9, 0, 0, 0, 0, 0], [2, 255, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0, 255, 0]] as [[UInt8]] {
      #expect(throws: ViewError.self) { try bytes.withUnsafeBytes { _ = try RowChange($0) } }
    }
    // A byte value that points behind the end.
    let bytes: [UInt8] = [2, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0]
    #expect(throws: ViewError.self) { try bytes.withUnsafeBytes { _ = try RowChange($0).cell(1, .bytes) } }
  }

  @Test func definitionsComeBackAndDamageIsRefused() throws {
    var definition = Self.schema(Self.types).definition
    definition.columns[2].writeDefaults = [.init(since: 1, value: 4), .init(since: 3, value: .null)]
    definition.indexes = [IndexDefinition(id: 3, name: "c0+c1", columns: [1, 2], table: TableID(value: 8))]
    let bytes = DefinitionCoding.encode(definition)
    #expect(try bytes.withUnsafeBytes { try DefinitionCoding.decode($0) } == definition)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 1
      #expect(throws: ViewError.self) { try damaged.withUnsafeBytes { _ = try DefinitionCoding.decode($0) } }
    }
    for count in bytes.indices {
      #expect(throws: ViewError.self) {
        try bytes.withUnsafeBytes { _ = try DefinitionCoding.decode($0.slice(0, count)) }
      }
    }
  }
}

/// Copies of bytes that stay where they are until the arena goes.
final class ByteArena {
  private var blocks: [UnsafeMutableRawBufferPointer] = []

  func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
    block.copyBytes(from: bytes)
    blocks.append(block)
    return UnsafeRawBufferPointer(rebasing: block[..<bytes.count])
  }

  deinit { for block in blocks { block.deallocate() } }
}
