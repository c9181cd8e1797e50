import Glibc

/// Finds a truncated file before it is mapped: touching a page beyond the end of a mapped file kills the process.
///
/// Reads LMDB's meta pages and, if the file is short, its free list with `pread` (layout: mdb.c of LMDB 0.9.24,
/// `MDB_page`, `MDB_meta`, `MDB_node`). A file may end before its last page only where those pages are free.
struct FileLengthCheck {
  private struct Finding {
    var transactionID: Int
    var text: String
  }

  private struct Meta {
    var transactionID: Int
    var pageSize: Int
    var lastPage: Int
    var freeRoot: Int
  }

  let descriptor: Int32
  let path: String

  func verify() throws(LMDBError) {
    // A live file grows under us: believe in damage only if it is there twice, unchanged.
    var lastSeen = -1
    for _ in 0..<8 {
      guard let finding = try findDamage() else { return }
      if finding.transactionID == lastSeen {
        throw LMDBError(.truncated, path: path, operation: "open", detail: finding.text)
      }
      lastSeen = finding.transactionID
    }
  }

  /// Whether the file is empty, or holds no more than a part of the two meta pages that LMDB writes at creation: a
  /// crash before they were synced can leave that, and LMDB would refuse it for ever.
  func isUnborn() throws(LMDBError) -> Bool {
    let size = try size()
    if size == 0 { return true }
    let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
    if size > 2 * pageSize { return false }
    var complete = 0
    for offset in [0, pageSize] where offset < size {
      guard let page = read(offset, min(pageSize, size - offset)) else { return false }
      if page.storage.allSatisfy({ $0 == 0 }) { continue }
      guard let meta = meta(at: offset), meta.transactionID == 0 else { return false }
      if page.count == pageSize { complete += 1 }
    }
    return complete < 2
  }

  private func size() throws(LMDBError) -> Int {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw LMDBError(returnCode: errno, path: path, operation: "open")
    }
    return Int(status.st_size)
  }

  private func findDamage() throws(LMDBError) -> Finding? {
    let size = try size()
    if size == 0 { return nil }
    guard let meta = newestMeta() else {
      if size < 2 * 4096 {
        return Finding(transactionID: 0, text: "expected at least 8192 bytes, found \(size)")
      }
      throw LMDBError(.versionMismatch, path: path, operation: "open", detail: "no valid meta page")
    }
    guard meta.lastPage >= 1, meta.lastPage < 1 << 46 else {
      throw LMDBError(.corrupted, path: path, operation: "open", detail: "last page \(meta.lastPage)")
    }
    let expected = (meta.lastPage + 1) * meta.pageSize
    if size >= expected { return nil }
    let firstMissing = size / meta.pageSize
    let free = freePages(meta, from: firstMissing)
    // Free page numbers are unique and within the file's range: as many as are missing means all of them.
    if firstMissing >= 2, free.count == meta.lastPage - firstMissing + 1 { return nil }
    return Finding(transactionID: meta.transactionID, text: "expected \(expected) bytes, found \(size)")
  }

  private func newestMeta() -> Meta? {
    guard let first = meta(at: 0) else { return meta(at: 4096) }
    guard let second = meta(at: first.pageSize) else { return first }
    return second.transactionID > first.transactionID ? second : first
  }

  private func meta(at offset: Int) -> Meta? {
    guard let page = read(offset, 152), page.little(UInt32.self, 16) == 0xBEEF_C0DE else { return nil }
    let pageSize = Int(page.little(UInt32.self, 40))
    guard pageSize >= 512, pageSize <= 65536 else { return nil }
    return Meta(
      transactionID: Int(truncatingIfNeeded: page.little(UInt64.self, 144)), pageSize: pageSize,
      lastPage: Int(truncatingIfNeeded: page.little(UInt64.self, 136)),
      freeRoot: Int(truncatingIfNeeded: page.little(UInt64.self, 80)))
  }

  /// The free pages numbered `first` or higher, from the free list's tree; what cannot be read is not free.
  private func freePages(_ meta: Meta, from first: Int) -> Set<Int> {
    var free: Set<Int> = []
    var waiting = [meta.freeRoot]
    var visited = 0
    while let number = waiting.popLast(), visited < 1 << 20 {
      visited += 1
      guard number >= 0, number <= meta.lastPage else { continue }
      guard let page = read(number * meta.pageSize, meta.pageSize) else { continue }
      let isBranch = page.little(UInt16.self, 10) & 1 != 0
      let nodes = (Int(page.little(UInt16.self, 12)) - 16) / 2
      guard nodes > 0, 16 + 2 * nodes <= page.count else { continue }
      for index in 0..<nodes {
        let node = Int(page.little(UInt16.self, 16 + 2 * index))
        guard node + 8 <= page.count else { continue }
        let low = Int(page.little(UInt16.self, node))
        let high = Int(page.little(UInt16.self, node + 2))
        let flags = Int(page.little(UInt16.self, node + 4))
        let keySize = Int(page.little(UInt16.self, node + 6))
        if isBranch {
          waiting.append(low | high << 16 | flags << 32)
          continue
        }
        let dataSize = low | high << 16
        let start = node + 8 + keySize
        var list = Bytes(storage: [])
        if flags & 1 != 0 {
          guard start + 8 <= page.count else { continue }
          let overflow = Int(truncatingIfNeeded: page.little(UInt64.self, start))
          guard overflow >= 0, overflow <= meta.lastPage else { continue }
          list = read(overflow * meta.pageSize + 16, dataSize) ?? list
        } else if start + dataSize <= page.count {
          list = Bytes(storage: Array(page.storage[start..<start + dataSize]))
        }
        guard list.count >= 8 else { continue }
        let count = Int(truncatingIfNeeded: list.little(UInt64.self, 0))
        guard count >= 0, count <= list.count / 8 - 1 else { continue }
        for entry in 0..<count {
          let freed = Int(truncatingIfNeeded: list.little(UInt64.self, 8 + 8 * entry))
          if freed >= first && freed <= meta.lastPage { free.insert(freed) }
        }
      }
    }
    return free
  }

  /// `count` bytes from `offset` on, nil if the file has fewer.
  private func read(_ offset: Int, _ count: Int) -> Bytes? {
    guard offset >= 0, count > 0, count <= 1 << 30 else { return nil }
    var storage = [UInt8](repeating: 0, count: count)
    let got = unsafe storage.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, count, offset) }
    return got == count ? Bytes(storage: storage) : nil
  }
}

private struct Bytes {
  var storage: [UInt8]
  var count: Int { storage.count }

  /// The little-endian integer at `offset`; zero where the bytes end before.
  func little<T: FixedWidthInteger>(_ type: T.Type, _ offset: Int) -> T {
    let size = MemoryLayout<T>.size
    guard offset >= 0, offset + size <= storage.count else { return 0 }
    var value: T = 0
    for index in (0..<size).reversed() { value = value << 8 | T(truncatingIfNeeded: storage[offset + index]) }
    return value
  }
}
