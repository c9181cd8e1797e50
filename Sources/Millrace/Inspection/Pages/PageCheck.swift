/// Something wrong in the tree of an LMDB file.
struct PageDamage: Hashable {
  /// The database: "free", "main", or its name.
  var database: String
  var page: Int
  var reason: String
}

/// Walks the trees of an LMDB file as of one commit and checks that they hold together: LMDB has no checksums of its
/// own, believes every page that it meets, and ends the process, or worse, where one is wrong.
///
/// Checked: page numbers, kinds, node offsets and sizes, the order of keys within and between pages, the counts that
/// each database's record states, that no page belongs to two trees or is free at once. Contents of values are not
/// looked at: those carry checksums of the modules that wrote them. The commit must be pinned by a read transaction, or
/// the file be one that nobody writes.
struct PageCheck: ~Copyable {
  /// More findings than this say nothing new.
  static let maximumDamages = 20

  private let file: PageFile
  private let meta: MetaPages.Meta
  private var used: [UInt64]
  private(set) var damages: [PageDamage] = []
  private(set) var pages = 0
  private let progress: (Int) -> Void

  private enum Flags {
    static let branch: UInt16 = 1
    static let leaf: UInt16 = 2
    static let overflow: UInt16 = 4
    /// Of memory only: dirty, loose, kept.
    static let transient: UInt16 = 0xC010
    static let bigData: UInt16 = 1
    static let subDatabase: UInt16 = 2
    static let integerKeys: UInt16 = 8
    /// Of a database's record: keys in another order, several values per key. None of ours is so, and LMDB would follow
    /// pointers that it does not have.
    static let otherKinds: UInt16 = 0x7E
  }

  /// Counts of one tree, to be compared with its record.
  private struct Tally: Equatable {
    var branches = 0
    var leaves = 0
    var overflows = 0
    var entries = 0
  }

  /// One tree on its walk.
  private struct Tree {
    var name: String
    var record: TreeRecord
    var tally = Tally()
    var lastKey: [UInt8]?
  }

  /// Nil if the file has no meta page of `transaction` (nil: of the newest commit) any more.
  init?(path: String, transaction: Int?, progress: @escaping (Int) -> Void = { _ in }) {
    guard let file = PageFile(path: path), let metas = MetaPages(file) else { return nil }
    guard let meta = transaction.map({ id in metas.metas.first { $0.transactionID == id } }) ?? metas.newest,
      meta.lastPage >= 1, meta.lastPage < 1 << 40
    else { return nil }
    self.file = file
    self.meta = meta
    self.progress = progress
    used = Array(repeating: 0, count: meta.lastPage / 64 + 1)
  }

  /// Walks everything.
  mutating func run() {
    claim(0, "main", 0)
    claim(1, "main", 0)
    walk("main", meta.main)
    walk("free", meta.free)
  }

  private var isFull: Bool { damages.count >= Self.maximumDamages }

  private mutating func report(_ database: String, _ page: Int, _ reason: String) {
    if !isFull { damages.append(PageDamage(database: database, page: page, reason: reason)) }
  }

  /// Marks a page as belonging to a tree; false if it is none of the file's or taken.
  @discardableResult
  private mutating func claim(_ page: Int, _ database: String, _ parent: Int) -> Bool {
    guard page >= 0, page <= meta.lastPage else {
      report(database, parent, "it points to page \(page), the last page is \(meta.lastPage)")
      return false
    }
    if used[page / 64] & 1 << UInt64(page % 64) != 0 {
      report(database, parent, "it points to page \(page), which is in use elsewhere, or free")
      return false
    }
    used[page / 64] |= 1 << UInt64(page % 64)
    pages += 1
    if pages % 1024 == 0 { progress(pages) }
    return true
  }

  private mutating func walk(_ name: String, _ record: TreeRecord) {
    var tree = Tree(name: name, record: record)
    let before = damages.count
    if name != "free", record.flags & Flags.otherKinds != 0 {
      return report(
        name, record.rootPage ?? 0, "its record says that it is of kind \(record.flags), as no database here")
    }
    if let root = record.rootPage {
      walk(&tree, root, level: 1, parent: 0, from: nil, below: nil)
    }
    let stated = Tally(
      branches: record.branchPages, leaves: record.leafPages, overflows: record.overflowPages, entries: record.entries)
    if damages.count == before, tree.tally != stated {
      report(
        name, record.rootPage ?? 0,
        "its tree has \(tree.tally.entries) entries in \(tree.tally.leaves) leaves, its record \(stated.entries) in "
          + "\(stated.leaves)")
    }
  }

  /// Checks the page and what is below it. Keys must lie in `low..<high`.
  private mutating func walk(
    _ tree: inout Tree, _ number: Int, level: Int, parent: Int, from low: [UInt8]?, below high: [UInt8]?
  ) {
    guard !isFull, claim(number, tree.name, parent) else { return }
    guard let page = file.read(at: number * meta.pageSize, count: meta.pageSize) else {
      return report(tree.name, number, "it cannot be read: the file ends before, or the disk has an error")
    }
    let isLeaf = level == tree.record.depth
    let kind = page.u16(10) & ~Flags.transient
    guard page.int(0) == number, kind == (isLeaf ? Flags.leaf : Flags.branch) else {
      return report(
        tree.name, number, "its header says page \(page.int(0)) of kind \(kind); it was overwritten or never written")
    }
    guard let nodes = nodes(page, isLeaf: isLeaf) else {
      return report(tree.name, number, "its entries lie outside of it")
    }
    if isLeaf { tree.tally.leaves += 1 } else { tree.tally.branches += 1 }
    if let first = nodes.first, !isLeaf, !first.key.isEmpty {
      report(tree.name, number, "its first entry has a key")
    }
    for (index, node) in nodes.enumerated() {
      if isLeaf || index > 0 {
        if !isInOrder(node.key, after: tree.lastKey, from: low, below: high, tree) {
          return report(tree.name, number, "its entry \(index) is out of order")
        }
      }
      if isLeaf {
        let known = tree.name == "main" ? Flags.subDatabase : Flags.bigData
        if node.flags & ~known != 0 {
          return report(tree.name, number, "its entry \(index) is of kind \(node.flags), as none here")
        }
        tree.tally.entries += 1
        tree.lastKey = node.key
        checkValue(&tree, page, node, number)
      } else {
        let next = index + 1 < nodes.count ? nodes[index + 1].key : high
        walk(&tree, node.child, level: level + 1, parent: number, from: index == 0 ? low : node.key, below: next)
      }
    }
  }

  private func isInOrder(
    _ key: [UInt8], after last: [UInt8]?, from low: [UInt8]?, below high: [UInt8]?, _ tree: Tree
  ) -> Bool {
    let isInteger = tree.name == "free" || tree.record.flags & Flags.integerKeys != 0
    func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
      isInteger
        ? left.reversed().lexicographicallyPrecedes(right.reversed()) : left.lexicographicallyPrecedes(right)
    }
    if let last, !precedes(last, key) { return false }
    if let low, precedes(key, low) { return false }
    if let high, !precedes(key, high) { return false }
    return true
  }

  private struct Node {
    var key: [UInt8]
    var flags: UInt16
    /// Where the value begins in the page, and its size.
    var value: Int
    var size: Int
    /// The page below, of branches.
    var child: Int
  }

  /// The page's nodes; nil if one lies outside.
  private func nodes(_ page: PageBytes, isLeaf: Bool) -> [Node]? {
    let lower = Int(page.u16(12))
    let upper = Int(page.u16(14))
    guard lower >= 16, lower <= upper, upper <= meta.pageSize, lower % 2 == 0 else { return nil }
    let count = (lower - 16) / 2
    guard count >= (isLeaf ? 1 : 2) else { return nil }
    var nodes: [Node] = []
    nodes.reserveCapacity(count)
    for index in 0..<count {
      let offset = Int(page.u16(16 + 2 * index))
      guard offset >= upper, offset + 8 <= meta.pageSize else { return nil }
      let low = Int(page.u16(offset))
      let high = Int(page.u16(offset + 2))
      let flags = page.u16(offset + 4)
      let keySize = Int(page.u16(offset + 6))
      let value = offset + 8 + keySize
      let size = low | high << 16
      let room = isLeaf ? (flags & Flags.bigData != 0 ? 8 : size) : 0
      guard value + room <= meta.pageSize, keySize <= 511 else { return nil }
      nodes.append(
        Node(
          key: Array(page.storage[(offset + 8)..<value]), flags: flags, value: value, size: size,
          child: low | high << 16 | Int(flags) << 32))
    }
    return nodes
  }

  private mutating func checkValue(_ tree: inout Tree, _ page: PageBytes, _ node: Node, _ number: Int) {
    var contents = PageBytes(storage: [])
    if node.flags & Flags.bigData != 0 {
      let first = page.int(node.value)
      let count = (15 + node.size) / meta.pageSize + 1
      for offset in 0..<count where !claim(first &+ offset, tree.name, number) { return }
      tree.tally.overflows += count
      guard let header = file.read(at: first * meta.pageSize, count: 16) else {
        return report(tree.name, first, "it cannot be read: the file ends before, or the disk has an error")
      }
      guard header.int(0) == first, header.u16(10) & ~Flags.transient == Flags.overflow, header.u32(12) == count else {
        return report(tree.name, first, "it does not begin the value of \(node.size) bytes that page \(number) names")
      }
      if tree.name == "free" { contents = file.read(at: first * meta.pageSize + 16, count: node.size) ?? contents }
    } else if tree.name == "free" {
      contents = PageBytes(storage: Array(page.storage[node.value..<(node.value + node.size)]))
    }
    if tree.name == "free" { return claimFree(contents, number) }
    if node.flags & Flags.subDatabase != 0, tree.name == "main" {
      guard node.size == TreeRecord.size else {
        return report(tree.name, number, "a database's record has \(node.size) bytes")
      }
      walk(String(decoding: node.key, as: UTF8.self), TreeRecord(page, node.value))
    }
  }

  /// The pages of one entry of the free list: their number, then each, falling.
  private mutating func claimFree(_ list: PageBytes, _ number: Int) {
    let count = list.int(0)
    guard count >= 0, count <= list.count / 8 - 1 else {
      return report("free", number, "an entry of \(list.count) bytes lists \(count) pages")
    }
    for index in 0..<count {
      if !claim(list.int(8 + 8 * index), "free", number) { return }
    }
  }
}
