import LMDB
import Testing

/// No room in the map, and values of extreme size.
@Suite struct RoomTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aFullMapInMidTransactionLeavesThePriorStateAndTheNextWriteWorks() throws {
    let store = try TestDatabase(folder.file("a.mdb"), .init(mapSize: 1 << 20))
    try store.put("before", size: 1000)
    var stored = 0
    let error = #expect(throws: LMDBError.self) {
      try store.environment.write { transaction in
        while true {
          try store.put("filler \(stored)", size: 3000, in: transaction)
          stored += 1
        }
      }
    }
    #expect(error?.code == .mapFull)
    #expect(error?.isRetriable == true)
    #expect(stored > 100)
    #expect(try store.size("before") == 1000)
    #expect(try store.size("filler 0") == nil)
    try store.put("after", size: 2000)
    #expect(try store.size("after") == 2000)
  }

  @Test func aFullMapThatTheBodySwallowedIsToldAtCommit() throws {
    let store = try TestDatabase(folder.file("a.mdb"), .init(mapSize: 1 << 20))
    #expect(
      code { try store.environment.write { try? store.put("large", size: 2 << 20, in: $0) } } == .mapFull)
    #expect(try store.size("large") == nil)
    try store.put("small")
  }

  @Test func aFullFileHoldsMoreOnceOpenedWithALargerLimit() throws {
    let path = folder.file("a.mdb")
    do {
      let store = try TestDatabase(path, .init(mapSize: 1 << 20))
      #expect(code { try store.put("large", size: 2 << 20) } == .mapFull)
    }
    let store = try TestDatabase(path, .init(mapSize: 8 << 20))
    try store.put("large", size: 2 << 20)
    #expect(try store.size("large") == 2 << 20)
  }

  @Test(arguments: [Int.min, -1, 0, 1, 4097, 1 << 20]) func smallLimitsAreRaisedToWhatAFileNeeds(mapSize: Int) throws {
    let store = try TestDatabase(folder.file("a.mdb"), .init(mapSize: mapSize, maxReaders: 0))
    try store.put("key")
    #expect(try store.size("key") == 10)
  }

  @Test func aLimitBeyondTheAddressSpaceIsRefusedAndSaysSo() throws {
    let error = #expect(throws: LMDBError.self) { _ = try TestDatabase(folder.file("a.mdb"), .init(mapSize: .max)) }
    #expect(error?.code == .outOfMemory)
    #expect(error?.description.contains("mapSize") == true)
  }

  @Test(arguments: [0, 1, 2, 2037, 2038, 2039, 4080, 4081, 5 << 20])
  func valuesOfEverySizeAreReadBack(size: Int) throws {
    let path = folder.file("a.mdb")
    try TestDatabase(path).put("key", size: size)
    let store = try TestDatabase(path)
    #expect(try store.size("key") == size)
    try store.environment.write { _ = try store.delete("key", in: $0) }
    #expect(try store.size("key") == nil)
  }

  @Test func aReservedValueIsFilledInPlace() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    try store.environment.write { transaction in
      try Array("key".utf8).withUnsafeBytes { key in
        let room = try transaction.reserve(store.database, key: key, count: 100_000)
        for index in room.indices { room[index] = UInt8(truncatingIfNeeded: index) }
      }
    }
    try store.environment.read { transaction in
      try Array("key".utf8).withUnsafeBytes { key in
        let value = try #require(try transaction.get(store.database, key))
        #expect(value.count == 100_000)
        #expect(value.indices.allSatisfy { value[$0] == UInt8(truncatingIfNeeded: $0) })
      }
    }
  }

  @Test func modesOfPutRefuseWhatTheyShould() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    try store.put("m")
    func put(_ key: String, _ mode: PutMode) throws {
      try store.environment.write { transaction in
        try Array(key.utf8).withUnsafeBytes { try transaction.put(store.database, key: $0, value: $0, mode) }
      }
    }
    #expect(code { try put("m", .insertOnly) } == .alreadyExists)
    #expect(code { try put("a", .append) } == .alreadyExists)
    #expect(try store.size("m") == 10)
    try put("z", .append)
    try put("n", .insertOnly)
  }
}
