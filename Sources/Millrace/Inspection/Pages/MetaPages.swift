import Glibc

/// The meta pages of an LMDB file, read beside the map: what the file itself says of its commits.
///
/// Layout of LMDB 0.9 on 64-bit machines (`MDB_page`, `MDB_meta`, `MDB_db` in its mdb.c): a page's header has 16 bytes,
/// then come magic u32 (16), version u32 (20), address u64 (24), map size u64 (32), the records of the free and the
/// main database of 48 bytes each (40, 88), last page u64 (136) and transaction u64 (144). The page size is in the
/// first record's pad (40).
struct MetaPages {
  struct Meta: Equatable {
    var transactionID: Int
    var mapSize: Int
    var pageSize: Int
    var lastPage: Int
    var free: TreeRecord
    var main: TreeRecord
  }

  /// Those that are whole: two, or one after a torn write.
  let metas: [Meta]

  var newest: Meta { metas.dropFirst().reduce(metas[0]) { $1.transactionID > $0.transactionID ? $1 : $0 } }

  /// Nil if the file has no valid meta page.
  init?(_ file: borrowing PageFile) {
    guard let first = file.read(at: 0, count: 152).flatMap(Self.meta) else {
      guard let second = file.read(at: 4096, count: 152).flatMap(Self.meta) else { return nil }
      metas = [second]
      return
    }
    metas = [first] + (file.read(at: first.pageSize, count: 152).flatMap(Self.meta).map { [$0] } ?? [])
  }

  init?(path: String) {
    guard let file = PageFile(path: path) else { return nil }
    self.init(file)
  }

  private static func meta(_ page: PageBytes) -> Meta? {
    guard page.u32(16) == 0xBEEF_C0DE, page.u32(20) == 1 else { return nil }
    let pageSize = Int(page.u32(40))
    guard pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0 else { return nil }
    return Meta(
      transactionID: page.int(144), mapSize: page.int(32), pageSize: pageSize, lastPage: page.int(136),
      free: TreeRecord(page, 40), main: TreeRecord(page, 88))
  }
}

/// What LMDB keeps of a database: where its tree is, and how many pages and entries it has.
struct TreeRecord: Equatable {
  static let size = 48
  /// The root of an empty tree.
  private static let noRoot = -1

  var flags: UInt16
  var depth: Int
  var branchPages: Int
  var leafPages: Int
  var overflowPages: Int
  var entries: Int
  private var root: Int

  init(_ bytes: PageBytes, _ offset: Int) {
    flags = bytes.u16(offset + 4)
    depth = Int(bytes.u16(offset + 6))
    branchPages = bytes.int(offset + 8)
    leafPages = bytes.int(offset + 16)
    overflowPages = bytes.int(offset + 24)
    entries = bytes.int(offset + 32)
    root = bytes.int(offset + 40)
  }

  var rootPage: Int? { root == Self.noRoot ? nil : root }
}

/// A file read with `pread`, page by page: damage in it is data, never a signal.
@safe
struct PageFile: ~Copyable {
  private let descriptor: Int32

  init?(path: String) {
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// `count` bytes from `offset` on; nil if the file has fewer.
  func read(at offset: Int, count: Int) -> PageBytes? {
    guard offset >= 0 else { return nil }
    var storage = [UInt8](repeating: 0, count: count)
    let got = unsafe storage.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, count, offset) }
    return got == count ? PageBytes(storage: storage) : nil
  }
}

/// Bytes with little-endian numbers in them; zero where they end before.
struct PageBytes {
  var storage: [UInt8]

  var count: Int { storage.count }

  func u16(_ offset: Int) -> UInt16 { UInt16(truncatingIfNeeded: number(offset, 2)) }
  func u32(_ offset: Int) -> UInt32 { UInt32(truncatingIfNeeded: number(offset, 4)) }
  func int(_ offset: Int) -> Int { Int(truncatingIfNeeded: number(offset, 8)) }

  private func number(_ offset: Int, _ width: Int) -> UInt64 {
    guard offset >= 0, offset <= storage.count - width else { return 0 }
    var value: UInt64 = 0
    for index in (0..<width).reversed() { value = value << 8 | UInt64(storage[offset + index]) }
    return value
  }
}
