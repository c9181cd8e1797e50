import Foundation
import LMDB
import Testing

/// Files shorter than their contents are found before they are mapped: touching a missing page kills the process.
@Suite struct TruncationTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func bytes(_ build: (TestDatabase) throws -> Void) throws -> Data {
    let path = folder.file("whole.mdb")
    do { try build(try TestDatabase(path)) }
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  private func open(_ contents: Data, _ access: Environment.Access = .readWrite) throws -> TestDatabase {
    let path = folder.file("copy.mdb")
    try contents.write(to: URL(fileURLWithPath: path))
    return try TestDatabase(path, .init(access: access))
  }

  @Test func aFileCutAtAnyLengthIsRefusedWithWhatWasExpectedAndFound() throws {
    let whole = try bytes { store in
      for number in 0..<60 { try store.put("key \(number)", size: number * 40) }
      try store.put("last", size: 9000)
    }
    #expect(whole.count % 4096 == 0)
    // Below 11 bytes all are zero: as good as an empty file.
    var lengths = [11, 100, 151, 152, 4095, 4096, 4097, 4248, 8191]
    for page in stride(from: 8192, to: whole.count, by: 4096) { lengths += [page, page + 1, page + 4095] }
    for length in lengths where length < whole.count {
      let error = #expect(throws: LMDBError.self) { _ = try open(whole.prefix(length)) }
      #expect(error?.code == .truncated, "\(length) bytes")
      // With one meta page left, what the older one says may be expected.
      let expected = length < 152 ? "expected at least 8192" : length < 8192 ? "expected " : "expected \(whole.count)"
      #expect(error?.description.contains(expected) == true, "\(length): \(String(describing: error))")
      #expect(error?.description.contains("found \(length)") == true)
      #expect(error?.isFatal == true)
    }
    let store = try open(whole)
    #expect(try store.size("last") == 9000)
    #expect(try store.size("key 59") == 59 * 40)
  }

  @Test func aCutFileIsRefusedForReadingAndSealedToo() throws {
    let whole = try bytes { try $0.put("key", size: 9000) }
    for access in [Environment.Access.readOnly, .sealed] {
      #expect(code { _ = try open(whole.dropLast(4096), access) } == .truncated)
    }
  }

  @Test func aFileWhoseLastPagesAreFreeMayBeShort() throws {
    // Pages freed earlier are taken into use first; then the large value gets pages at the end, and gives them up
    // again before they are ever written.
    let whole = try bytes { store in
      for _ in 0..<10 { try store.put("kept", size: 9000) }
      try store.environment.write { transaction in
        try store.put("small", size: 20, in: transaction)
        try store.put("large", size: 300_000, in: transaction)
        try store.delete("large", in: transaction)
      }
    }
    let lastPage = whole.withUnsafeBytes { bytes in
      max(
        bytes.loadUnaligned(fromByteOffset: 136, as: Int.self), bytes.loadUnaligned(fromByteOffset: 4232, as: Int.self))
    }
    try #require(whole.count < (lastPage + 1) * 4096, "the file is not short: this LMDB writes freed pages")
    do {
      let store = try open(whole)
      #expect(try store.size("kept") == 9000)
      try store.put("more", size: 300_000)
      #expect(try store.size("more") == 300_000)
    }
    #expect(code { _ = try open(whole.prefix(4 * 4096)) } == .truncated)
  }

  @Test func aTextFileIsNotTakenForAStoreNorOverwritten() throws {
    for size in [1, 5000, 8192, 100_000] {
      let text = Data(repeating: UInt8(ascii: "x"), count: size)
      let error = #expect(throws: LMDBError.self) { _ = try open(text) }
      #expect([.versionMismatch, .truncated].contains(error?.code))
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("copy.mdb"))) == text)
    }
  }

  @Test func whatACrashLeavesOfACreationIsTakenForNew() throws {
    let fresh = try {
      let path = folder.file("fresh.mdb")
      do { _ = try Environment.open(at: path) }
      return try Data(contentsOf: URL(fileURLWithPath: path))
    }()
    #expect(fresh.count == 8192)
    let zeros = Data(count: 4096)
    for remains in [
      Data(), zeros, zeros + zeros, fresh.prefix(4096), fresh.prefix(4096) + zeros, zeros + fresh.suffix(4096),
    ] {
      let store = try open(remains)
      try store.put("key")
      #expect(try store.size("key") == 10)
    }
    // A reader does not finish a creation.
    #expect(code { _ = try open(fresh.prefix(4096), .readOnly) } == .notFound)
    #expect(code { _ = try open(Data(), .readOnly) } == .notFound)
  }

  @Test func randomDamageToTheMetaPagesNeverStopsTheCheck() throws {
    let seed = UInt64.random(in: 0..<1_000_000)
    print("damage to the meta pages: seed \(seed)")
    var random = Scrambler(state: seed)
    let whole = try bytes { store in for number in 0..<30 { try store.put("key \(number)", size: 500) } }
    for _ in 0..<300 {
      // Half of the file, so that LMDB never gets to map what was damaged, whatever the meta pages say.
      var damaged = whole.prefix(whole.count / 2)
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let page = Int.random(in: 0..<2, using: &random) * 4096
        damaged[page + Int.random(in: 40..<152, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      for page in [0, 4096] { damaged.replaceSubrange(page + 136..<page + 142, with: [0xff, 0xff, 0xff, 0, 0, 0]) }
      #expect(throws: LMDBError.self) { _ = try open(damaged) }
    }
  }
}

/// A small generator of its own (xorshift), for repeatable damage.
private struct Scrambler: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &+ 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed ^= mixed << 13
    mixed ^= mixed >> 7
    mixed ^= mixed << 17
    return mixed
  }
}
