import Bytes
import Records
import Testing

private struct Old: Record {
  var gone: String
  var count: Int32
  var price: Float
  var name: String
  var at: Timestamp
  var level: UInt16
}

private struct New: Record, Equatable {
  var name: String?
  var added: String?
  var addedNumber: Int?
  var price: Double
  var count: Int64?
  var level: Int
  var at: Timestamp
}

@Suite struct EvolutionTests {
  @Test func addedRemovedReorderedAndWidenedFieldsAreRead() throws {
    let old = Codec<Old>.self
    let bytes = try old.record.encoded(
      Old(gone: "x", count: -5, price: 1.5, name: "é", at: Timestamp(microseconds: 9), level: 65535))
    let reader = try Codec<New>.record.reading(writtenWith: old.record.schema)
    let value = try reader.decode(bytes)
    #expect(
      value
        == New(
          name: "é", added: nil, addedNumber: nil, price: 1.5, count: -5, level: 65535, at: Timestamp(microseconds: 9)))
    // It goes on writing the new form.
    #expect(try Codec<New>.record.decode(reader.encoded(value)) == value)
  }

  @Test func declaredDefaultsFillAddedFields() throws {
    struct Before: Record { var id: Int64 }
    struct After: Record, Equatable {
      var id: Int64
      var bid: Double
      var kind: Kind
      var tags: [String]
      var note: String
      var maybe: Int32?
      static var recordDefaults: After? {
        After(id: 0, bid: 42, kind: .click, tags: ["new"], note: "none yet, and longer than fifteen", maybe: 3)
      }
    }
    let reader = try Codec<After>.record.reading(writtenWith: Codec<Before>.record.schema)
    for id in [1, -1] as [Int64] {
      let value = try reader.decode(Codec<Before>.record.encoded(Before(id: id)))
      var expected = try #require(After.recordDefaults)
      expected.id = id
      #expect(value == expected)
    }
  }

  struct Target: Record { var field: Int32 }

  @Test(arguments: [
    Schema.Field("other", .int32), Schema.Field("field", .int64), Schema.Field("field", .uint32),
    Schema.Field("field", .double), Schema.Field("field", .string), Schema.Field("field", .timestamp),
    Schema.Field("field", .int32, isOptional: true), Schema.Field("field", .list, element: .int32),
  ])
  func anythingElseIsRefusedByName(written: Schema.Field) throws {
    let codec = try Codec<Target>.record
    let error = #expect(throws: RecordsError.self) {
      try codec.reading(writtenWith: Schema(.record, fields: [written]))
    }
    #expect(error?.code == .incompatibleSchema && error?.field == "field")
  }

  @Test func everyWideningKeepsTheValue() throws {
    struct Narrow: Record {
      var a: Int8
      var b: UInt8
      var c: UInt32
      var d: Int16
      var e: Int32
      var f: String
    }
    struct Wide: Record {
      var a: Int16
      var b: Int32
      var c: Int64
      var d: Float
      var e: Double
      var f: [UInt8]
    }
    let reader = try Codec<Wide>.record.reading(writtenWith: Codec<Narrow>.record.schema)
    let bytes = try Codec<Narrow>.record.encoded(Narrow(a: -128, b: 255, c: .max, d: .min, e: .min, f: "é"))
    let wide = try reader.decode(bytes)
    #expect(wide.a == -128 && wide.b == 255 && wide.c == 4_294_967_295)
    #expect(wide.d == -32768 && wide.e == -2_147_483_648 && wide.f == [0xC3, 0xA9])
  }

  @Test func scalarsWidenToo() throws {
    let reader = try Codec<Int64?>.record.reading(writtenWith: Codec<Int32>.record.schema)
    #expect(try reader.decode(Codec<Int32>.record.encoded(-7)) == -7)
    let text = try Codec<String?>.record.reading(writtenWith: Codec<String>.record.schema)
    #expect(try text.decode(Codec<String>.record.encoded("ab")) == "ab")
    #expect(throws: RecordsError.self) { try Codec<Int32>.fixed.reading(writtenWith: Codec<Int64>.fixed.schema) }
  }

  @Test func formsDoNotMix() throws {
    #expect(throws: RecordsError.self) { try Codec<Old>.record.reading(writtenWith: .raw) }
    #expect(throws: RecordsError.self) { try Codec<[UInt8]>.raw.reading(writtenWith: Codec<Old>.record.schema) }
    #expect(throws: RecordsError.self) { try Codec<Old>.codable.reading(writtenWith: Codec<Old>.json.schema) }
  }

  @Test func enumsMayBecomeTheirRawValueAndBack() throws {
    struct Typed: Record { var kind: Kind }
    struct Untyped: Record { var kind: String }
    let bytes = try Codec<Typed>.record.encoded(Typed(kind: .purchase))
    #expect(try Codec<Untyped>.record.reading(writtenWith: Codec<Typed>.record.schema).decode(bytes).kind == "buy")
    let unknown = try Codec<Untyped>.record.encoded(Untyped(kind: "refund"))
    let error = #expect(throws: RecordsError.self) { try Codec<Typed>.record.decode(unknown) }
    #expect(error?.code == .malformed && error?.field == "kind")
  }
}
