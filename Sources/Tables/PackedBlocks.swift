import Bytes

/// The default base: packs of at most 16,368 bytes (four pages less LMDB's header), more only for a single larger entry
/// or for keys that cannot be separated. Changes are whole values, so the newest of a key counts.
public struct PackedBlocks: BlockFormat {
  /// The size limit of a block.
  public let blockBytes: Int

  public init(blockBytes: Int = 4 * 4096 - 16) { self.blockBytes = blockBytes }

  public var identifier: UInt8 { 0 }
  public var lanes: Int { 1 }
  public var joinBelow: Int { blockBytes / 2 }

  public func rewrite(lane: Int, blocks: [Block], changes: [Change], into output: inout BlockOutput) throws {
    let entries = try merged(blocks, changes)
    guard let first = entries.first else { return }
    let isUniform = entries.allSatisfy {
      unsafe $0.key.count == first.key.count && $0.payload.count == first.payload.count
    }
    let total = entries.reduce(0) { unsafe $0 + $1.key.count + $1.payload.count + (isUniform ? 0 : 8) }
    // Even parts: blocks in the middle keep room, so that the next changes do not split them again.
    let room = max(blockBytes - PackView.head, 1)
    let target = PackView.head + total / max(1, (total + room - 1) / room)
    var builder = PackBuilder(isTagged: false)
    var start = 0
    for index in entries.indices {
      let entry = entries[index]
      if builder.count > 0 {
        let size = unsafe builder.byteCount(adding: entry.key.count, entry.payload.count, isTombstone: false)
        let isFull = size > blockBytes || builder.byteCount >= target
        if isFull, unsafe Fence.separates(entries[index - 1].key, entry.key) {
          unsafe output.add(first: entries[start].key, last: entries[index - 1].key, entries: index - start) {
            builder.finish(into: &$0)
          }
          start = index
        }
      }
      builder.append(entry, hash: 0)
    }
    let last = entries[entries.count - 1]
    unsafe output.add(first: entries[start].key, last: last.key, entries: entries.count - start) {
      builder.finish(into: &$0)
    }
  }

  /// The entries of the blocks with the changes laid over them, deleted ones left out.
  private func merged(_ blocks: [Block], _ changes: [Change]) throws -> [Change] {
    var result: [Change] = []
    var next = 0
    for block in blocks {
      let pack = try pack(block)
      result.reserveCapacity(result.count + pack.count + changes.count - next)
      for index in 0..<pack.count {
        let entry = pack.entry(index)
        var isReplaced = false
        while next < changes.count && !isReplaced {
          let order = unsafe changes[next].key.compare(entry.key)
          if order > 0 { break }
          if !changes[next].isTombstone { result.append(changes[next]) }
          next += 1
          isReplaced = order == 0
        }
        if !isReplaced { result.append(entry) }
      }
    }
    result.append(contentsOf: changes[next...].lazy.filter { !$0.isTombstone })
    return result
  }

  private func pack(_ block: Block) throws -> PackView {
    do {
      return try unsafe PackView(block.bytes)
    } catch {
      throw error.asTableError(nil, block.place)
    }
  }

  public func entryCount(lane: Int, block: Block) -> Int { (try? pack(block))?.count ?? 0 }

  public func verify(lane: Int, block: Block) throws -> (first: [UInt8], last: [UInt8]) {
    let pack = try pack(block)
    if let fault = pack.fault() { throw TableError.damaged(nil, block.place, fault) }
    return unsafe ([UInt8](pack.key(0)), [UInt8](pack.key(pack.count - 1)))
  }
}

extension Block {
  /// How errors name the block.
  public var place: String {
    guard let fence else { return "the last block" }
    let digits = fence.bytes.prefix(32).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    return "the block below 0x" + digits.joined()
  }
}

extension PackView.Fault {
  func asTableError(_ table: TableID?, _ place: String) -> TableError {
    switch self {
    case .checksum: .damaged(table, place, "the checksum is wrong")
    case .structure(let what): .damaged(table, place, "the structure is wrong: \(what)")
    case .newer(let version):
      TableError(
        .newerFormat, table: table, place: place,
        detail: "written in version \(version); use the library that wrote it")
    }
  }
}
