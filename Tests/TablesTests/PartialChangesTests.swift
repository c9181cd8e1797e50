import Bytes
import LMDB
import Tables
import Testing

/// Rows of two columns, of which a change may set one: payload = mask, then a byte per set column. A tombstone with a
/// payload deletes and then sets. Stored as packed blocks in two lanes, one per column.
private struct TwoColumns: BlockFormat {
  let identifier: UInt8 = 7
  let lanes = 2
  let joinBelow = 100

  func isWhole(_ change: Change) -> Bool {
    unsafe change.isTombstone || change.payload.first == 3
  }

  func combine(_ newer: Change, over older: Change, into buffer: inout ByteBuffer) throws -> Bool {
    var columns = Self.columns(older)
    for (index, value) in Self.columns(newer).enumerated() where value != nil { columns[index] = value }
    buffer.append(UInt8((columns[0] == nil ? 0 : 1) | (columns[1] == nil ? 0 : 2)))
    for value in columns { if let value { buffer.append(value) } }
    return older.isTombstone
  }

  static func columns(_ change: Change) -> [UInt8?] {
    let bytes = unsafe [UInt8](change.payload)
    guard let mask = bytes.first else { return [nil, nil] }
    return [mask & 1 != 0 ? bytes[1] : nil, mask & 2 != 0 ? bytes[bytes.count - 1] : nil]
  }

  func rewrite(lane: Int, blocks: [Block], changes: [Change], into output: inout BlockOutput) throws {
    var rows: [Key: UInt8] = [:]
    for block in blocks { for (key, value) in Self.rows(block) { rows[key] = value } }
    for change in changes {
      let key = Key(unsafe [UInt8](change.key))
      if change.isTombstone { rows[key] = nil }
      if let value = Self.columns(change)[lane] { rows[key] = value }
    }
    let sorted = rows.sorted { $0.key < $1.key }
    for start in stride(from: 0, to: sorted.count, by: 20) {
      let part = sorted[start..<min(start + 20, sorted.count)]
      guard let first = part.first, let last = part.last else { continue }
      unsafe first.key.bytes.withUnsafeBytes { first in
        unsafe last.key.bytes.withUnsafeBytes { last in
          unsafe output.add(first: first, last: last, entries: part.count) { buffer in
            for (key, value) in part {
              buffer.append(UInt8(key.bytes.count))
              buffer.append(key.bytes)
              buffer.append(value)
            }
          }
        }
      }
    }
  }

  static func rows(_ block: Block) -> [(Key, UInt8)] {
    let bytes = unsafe [UInt8](block.bytes)
    var rows: [(Key, UInt8)] = []
    var place = 0
    while place < bytes.count {
      let end = place + 1 + Int(bytes[place])
      rows.append((Key([UInt8](bytes[(place + 1)..<end])), bytes[end]))
      place = end + 1
    }
    return rows
  }

  func entryCount(lane: Int, block: Block) -> Int { Self.rows(block).count }

  func verify(lane: Int, block: Block) throws -> (first: [UInt8], last: [UInt8]) {
    let rows = Self.rows(block)
    return (rows.first?.0.bytes ?? [], rows.last?.0.bytes ?? [])
  }
}

/// A format of another module: partial changes, several lanes.
struct PartialChangesTests {
  @Test func partialChangesCombineInRunsAndLanes() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("partialChangesCombineInRunsAndLanes seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let scratch = try Scratch()
    var options = TableSpace.Options()
    options.sweepFloor = 3_000
    options.sweepCeiling = 3_000
    options.combineCount = 3
    let space = try TableSpace(environment: scratch.open(), options: options)
    let table = try space.environment.write { try space.create(format: 7, in: $0) }
    space.register(TwoColumns(), for: table)
    var model: [Key: [UInt8?]] = [:]
    for _ in 0..<150 {
      var builder = RunBuilder()
      let keys = Set((0..<30).map { _ in Key("k\(Int.random(in: 0..<300, using: &generator))") }).sorted()
      for key in keys {
        let mask = UInt8.random(in: 0...3, using: &generator)
        let isTombstone = mask == 0 || Int.random(in: 0..<5, using: &generator) == 0
        var payload = [mask]
        var row = isTombstone ? [nil, nil] : model[key] ?? [nil, nil]
        for column in 0..<2 where mask & UInt8(1 << column) != 0 {
          let value = UInt8.random(in: 0...255, using: &generator)
          payload.append(value)
          row[column] = value
        }
        model[key] = row
        unsafe key.bytes.withUnsafeBytes { key in
          unsafe payload.withUnsafeBytes {
            unsafe builder.append(Change(key: key, payload: $0, isTombstone: isTombstone))
          }
        }
      }
      let run = builder.finish()
      try space.environment.write { transaction in
        try space.append(run, to: table, in: transaction)
        _ = try space.maintain(in: transaction, budget: .init(bytes: 1_000))
      }
    }
    let rest = try TableSpace(
      environment: space.environment,
      options: {
        options.sweepFloor = 0
        options.sweepCeiling = 0
        return options
      }())
    rest.register(TwoColumns(), for: table)
    while try rest.environment.write({ try rest.maintain(in: $0) }).hasMore {}
    try rest.environment.read { transaction in
      let reader = try rest.reader(table, in: transaction)
      #expect(reader.runs.isEmpty)
      for lane in 0..<2 {
        var found: [Key: UInt8] = [:]
        try reader.forEachBlock(lane: lane, in: transaction) { block in
          for (key, value) in TwoColumns.rows(block) { found[key] = value }
          return true
        }
        #expect(found == model.compactMapValues { $0[lane] })
      }
      let damages = try rest.verify(table, in: transaction).damages
      #expect(damages.isEmpty)
    }
  }
}
