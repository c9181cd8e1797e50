import Bytes
public import LMDB

/// What a table holds and what is wrong with it.
public struct TableReport: Sendable {
  public var table: TableID
  public var runs = 0
  public var runBytes = 0
  public var runEntries = 0
  public var blocks = 0
  public var blockBytes = 0
  public var blockEntries = 0
  /// Everything found damaged, named; the rest of the table is readable.
  public var damages: [TableError] = []
}

extension TableSpace {
  /// Reads all of `table` and checks checksums, structure, the order of keys and the fences of its runs and blocks.
  /// Damage is listed, not thrown.
  ///
  /// - Throws: `unknownTable`, `unknownFormat`, LMDB's errors; `damaged` if the table's own record is.
  public func verify<T: ReadableTransaction & ~Copyable>(
    _ table: TableID, in transaction: borrowing T
  ) throws -> TableReport {
    let state = try existing(table, in: transaction)
    let format = try format(of: table, state)
    var report = TableReport(table: table)
    for record in state.runs { try verify(record, &report, in: transaction) }
    for lane in 0..<format.lanes { try verify(lane, format, &report, in: transaction) }
    if report.damages.isEmpty && report.blocks != state.baseBlocks {
      report.damages.append(
        .damaged(table, "its blocks", "\(report.blocks) are there instead of \(state.baseBlocks)"))
    }
    return report
  }

  private func verify<T: ReadableTransaction & ~Copyable>(
    _ record: TableState.RunRecord, _ report: inout TableReport, in transaction: borrowing T
  ) throws {
    report.runs += 1
    var last: [UInt8]?
    var entries = 0
    for chunk in 0..<record.chunks {
      let place = "run \(record.id), chunk \(chunk)"
      guard let bytes = unsafe try transaction.get(runs, TableKeys.run(report.table, record.id, chunk: chunk)) else {
        report.damages.append(.damaged(report.table, place, "it is missing"))
        continue
      }
      report.runBytes += bytes.count
      do {
        let pack = try unsafe PackView(bytes)
        entries += pack.count
        if let fault = pack.fault() { report.damages.append(.damaged(report.table, place, fault)) }
        let isInOrder = unsafe last?.withUnsafeBytes { unsafe $0.compare(pack.key(0)) < 0 } ?? true
        if !isInOrder { report.damages.append(.damaged(report.table, place, "it is out of order")) }
        last = unsafe [UInt8](pack.key(pack.count - 1))
      } catch {
        report.damages.append(error.asTableError(report.table, place))
      }
    }
    report.runEntries += entries
  }

  private func verify<T: ReadableTransaction & ~Copyable>(
    _ lane: Int, _ format: any BlockFormat, _ report: inout TableReport, in transaction: borrowing T
  ) throws {
    let table = report.table
    let walk = BlockWalk(table, lane)
    report = try transaction.withCursor(blocks) { [report] cursor in
      var report = report
      var lower: Fence?
      var isThere = try unsafe walk.start(&cursor, pages, at: nil, reverse: false)
      while isThere, let block = walk.block(cursor) {
        report.blocks += 1
        report.blockBytes += unsafe block.bytes.count
        if lane == 0 { report.blockEntries += format.entryCount(lane: lane, block: block) }
        do {
          let (first, last) = try format.verify(lane: lane, block: block)
          let isAbove = unsafe first.withUnsafeBytes { key in lower.map { unsafe !$0.isAbove(key) } ?? true }
          let isBelow = unsafe last.withUnsafeBytes { key in block.fence.map { unsafe $0.isAbove(key) } ?? true }
          if !isAbove || !isBelow {
            report.damages.append(.damaged(table, block.place, "it holds keys beyond its fences"))
          }
        } catch var error as TableError {
          error.table = table
          report.damages.append(error)
        }
        lower = block.fence
        isThere = try walk.move(&cursor, reverse: false)
      }
      return report
    }
  }
}
