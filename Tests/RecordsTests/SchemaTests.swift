import Bytes
import Records
import Synchronization
import Testing

@Suite struct SchemaTests {
  @Test func aSchemaComesBackFromItsBytes() throws {
    let schema = try Codec<Everything>.record.schema
    let decoded = try schema.encoded().withUnsafeBytes { try Schema(decoding: $0) }
    #expect(decoded == schema)
    #expect(decoded.fingerprint == schema.fingerprint)
  }

  @Test func theFingerprintIsTheHashOfTheCanonicalBytes() throws {
    let schema = try Schema(
      .record, fields: [Schema.Field("id", .int64), Schema.Field("t", .string, isOptional: true)])
    let bytes: [UInt8] = [1, 1, 2, 0, 5, 0, 2, 0, 0x69, 0x64, 0x8C, 0, 1, 0, 0x74]
    #expect(schema.encoded() == bytes)
    #expect(schema.fingerprint == bytes.withUnsafeBytes { KeyHash($0).value })
  }

  @Test func theTypesNameIsNoPartOfIt() throws {
    struct One: Record { var a: Int }
    struct Two: Record { var a: Int64 }
    struct Three: Record { var b: Int64 }
    #expect(try Codec<One>.record.schema == Codec<Two>.record.schema)
    #expect(try Codec<One>.record.schema.fingerprint != Codec<Three>.record.schema.fingerprint)
  }

  @Test func namesThatDifferOnlyInCompositionAreTwo() throws {
    let schema = try Schema(.record, fields: [Schema.Field("\u{E9}", .bool), Schema.Field("e\u{301}", .bool)])
    #expect(schema.fields.count == 2)
    #expect(throws: RecordsError.self) {
      try Schema(.record, fields: [Schema.Field("a", .bool), Schema.Field("a", .int8)])
    }
  }

  @Test func aSchemaOfANewerLibraryIsToldFromDamage() throws {
    let error = #expect(throws: RecordsError.self) { try [2, 1, 0, 0].withUnsafeBytes { try Schema(decoding: $0) } }
    #expect(error?.description.contains("newer") == true)
  }
}

@Suite struct SchemaRegistryTests {
  @Test func aSchemaIsKeptOnceAndFoundAfterReopening() throws {
    let kept = Mutex<[UInt64: [UInt8]]>([:])
    let saves = Mutex(0)
    nonisolated func storage() -> SchemaRegistry.Storage {
      SchemaRegistry.Storage(
        load: { fingerprint in kept.withLock { $0[fingerprint] } },
        save: { fingerprint, bytes in
          saves.withLock { $0 += 1 }
          kept.withLock { $0[fingerprint] = bytes }
        })
    }
    let schema = try Codec<Everything>.record.schema
    let registry = SchemaRegistry(storage: storage())
    try registry.register(schema)
    try registry.register(schema)
    #expect(saves.withLock { $0 } == 1)
    let reopened = SchemaRegistry(storage: storage())
    #expect(try reopened.schema(schema.fingerprint) == schema)
    try reopened.register(schema)
    #expect(saves.withLock { $0 } == 1)
    let error = #expect(throws: RecordsError.self) { try reopened.schema(1) }
    #expect(error?.code == .unknownSchema)
  }

  @Test func damageAndFailureAreReported() throws {
    struct Failure: Error {}
    let schema = try Codec<Int>.record.schema
    let failing = SchemaRegistry(storage: .init(load: { _ in throw Failure() }, save: { _, _ in }))
    let error = #expect(throws: RecordsError.self) { try failing.register(schema) }
    #expect(error?.code == .storage && error?.isRetriable == true && error?.cause is Failure)
    let other = try Codec<String>.record.schema.encoded()
    let damaged = SchemaRegistry(storage: .init(load: { _ in other }, save: { _, _ in }))
    #expect(throws: RecordsError.self) { try damaged.register(schema) }
  }

  @Test func aCodecSetReadsEveryAge() throws {
    struct First: Record { var a: Int32 }
    struct Second: Record {
      var a: Int64
      var b: String?
    }
    struct Alien: Record { var a: String }
    let registry = SchemaRegistry(storage: .inMemory())
    let first = try registry.register(Codec<First>.record.schema)
    let alien = try registry.register(Codec<Alien>.record.schema)
    var set = try CodecSet(Codec<Second>.record, registry: registry)
    let bytes = try Codec<First>.record.encoded(First(a: 5))
    #expect(try set.codec(writtenWith: first).decode(bytes).a == 5)
    #expect(try set.codec(writtenWith: set.current.schema.fingerprint).schema == set.current.schema)
    let error = #expect(throws: RecordsError.self) { try set.codec(writtenWith: alien) }
    #expect(error?.field == "a")
  }
}
