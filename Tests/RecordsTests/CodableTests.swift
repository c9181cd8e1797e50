import Bytes
import Records
import Testing

@Suite struct CodableTests {
  indirect enum Shape: Codable, Sendable, Equatable {
    case point
    case circle(radius: Double)
    case group([Shape])
  }

  struct Document: Codable, Sendable, Equatable {
    var title: String
    var counts: [String: Int]
    var byNumber: [Int: String]
    var shapes: [Shape]
    var maybe: Int?
    var nested: [[UInt8]]
    var extreme: [Int64]
    var big: UInt64
    var float: Float
    var empty: Nothing
    struct Nothing: Codable, Sendable, Equatable {}
  }

  let document = Document(
    title: "é🙂", counts: ["a": 1, "b": -1], byNumber: [-5: "x", 7: "y"],
    shapes: [.point, .group([.circle(radius: 1.5), .group([])])], maybe: nil, nested: [[], [1, 2]],
    extreme: [.min, -1, 0, 23, 24, 255, 256, 65535, 65536, .max], big: .max, float: 0.1, empty: .init())

  @Test func anyCodableComesBack() throws {
    #expect(try Codec<Document>.codable.decode(Codec<Document>.codable.encoded(document)) == document)
    #expect(try Codec<Document>.json.decode(Codec<Document>.json.encoded(document)) == document)
    #expect(try Codec<[Int?]>.codable.decode(Codec<[Int?]>.codable.encoded([1, nil])) == [1, nil])
    #expect(try Codec<Int?>.codable.decode(Codec<Int?>.codable.encoded(nil)) == nil)
  }

  @Test func everyRecordComesBack() throws {
    var random = SeededRandom()
    for _ in 0..<50 {
      let value = Everything.random(&random)
      #expect(try Codec<Everything>.codable.decode(Codec<Everything>.codable.encoded(value)) == value)
    }
  }

  /// RFC 8949, appendix A.
  @Test func theBytesAreCBOR() throws {
    #expect(try Codec<Int>.codable.encoded(1000) == [0x19, 0x03, 0xE8])
    #expect(try Codec<Int>.codable.encoded(-1000) == [0x39, 0x03, 0xE7])
    #expect(try Codec<Int>.codable.encoded(-1) == [0x20])
    #expect(try Codec<UInt64>.codable.encoded(.max) == [0x1B] + Array(repeating: 0xFF, count: 8))
    #expect(try Codec<Double>.codable.encoded(1.1) == [0xFB, 0x3F, 0xF1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9A])
    #expect(try Codec<Float>.codable.encoded(100000) == [0xFA, 0x47, 0xC3, 0x50, 0x00])
    #expect(try Codec<String>.codable.encoded("ü") == [0x62, 0xC3, 0xBC])
    #expect(try Codec<[UInt8]>.codable.encoded([1, 2, 3, 4]) == [0x44, 1, 2, 3, 4])
    #expect(try Codec<[Int]>.codable.encoded([1, 2, 3]) == [0x83, 1, 2, 3])
    #expect(try Codec<[String: Int]>.codable.encoded(["a": 1]) == [0xA1, 0x61, 0x61, 1])
    #expect(try Codec<[Bool?]>.codable.encoded([true, false, nil]) == [0x83, 0xF5, 0xF4, 0xF6])
  }

  @Test func propertiesMayBeAddedRemovedAndWidened() throws {
    struct Before: Codable, Sendable {
      var a: Int8
      var gone: [Int]
      var f: Float
    }
    struct After: Codable, Sendable {
      var f: Double
      var a: Int
      var new: String?
    }
    let bytes = try Codec<Before>.codable.encoded(Before(a: -3, gone: [1], f: 0.5))
    let after = try Codec<After>.codable.decode(bytes)
    #expect(after.a == -3 && after.f == 0.5 && after.new == nil)
  }

  @Test func whatIsMissingOrWrongIsNamed() throws {
    struct Inner: Codable, Sendable { var x: Int8 }
    struct Outer: Codable, Sendable { var inner: Inner }
    struct Wide: Codable, Sendable { var inner: [String: Int] }
    let wide = try Codec<Wide>.codable.encoded(Wide(inner: ["x": 300]))
    let range = #expect(throws: RecordsError.self) { try Codec<Outer>.codable.decode(wide) }
    #expect(range?.field == "inner.x" && range?.offset == 10)
    let empty = try Codec<Wide>.codable.encoded(Wide(inner: [:]))
    let missing = #expect(throws: RecordsError.self) { try Codec<Outer>.codable.decode(empty) }
    #expect(missing?.field == "inner.x")
    #expect(throws: RecordsError.self) { try Codec<Int>.codable.decode([0x01, 0x02]) }
    #expect(throws: RecordsError.self) { try Codec<Outer>.json.decode(Array("{}".utf8)) }
  }

  @Test func aThrowingEncodeLeavesTheBufferAlone() throws {
    struct Refusing: Codable, Sendable {
      struct Failure: Error {}
      init() {}
      init(from decoder: any Decoder) throws { throw Failure() }
      func encode(to encoder: any Encoder) throws { throw Failure() }
    }
    var buffer = ByteBuffer()
    buffer.append([1, 2])
    let error = #expect(throws: RecordsError.self) { try Codec<Refusing>.codable.encode(Refusing(), into: &buffer) }
    #expect(error?.code == .unencodable && error?.cause is Refusing.Failure)
    #expect(buffer.array == [1, 2])
  }

  @Test func inheritedEncodersAndNestedContainersWork() throws {
    struct Manual: Codable, Sendable, Equatable {
      var a: Int
      var b: [Int]
      enum Keys: String, CodingKey { case box, list, a, last }
      init(a: Int, b: [Int]) {
        self.a = a
        self.b = b
      }
      init(from decoder: any Decoder) throws {
        let outer = try decoder.container(keyedBy: Keys.self)
        a = try outer.nestedContainer(keyedBy: Keys.self, forKey: .box).decode(Int.self, forKey: .a)
        var list = try outer.nestedUnkeyedContainer(forKey: .list)
        b = []
        while !list.isAtEnd { b.append(try list.decode(Int.self)) }
        b.append(try Int(from: outer.superDecoder(forKey: .last)))
      }
      func encode(to encoder: any Encoder) throws {
        var outer = encoder.container(keyedBy: Keys.self)
        // Opened first, written last: the entries stay in the order they were opened.
        var box = outer.nestedContainer(keyedBy: Keys.self, forKey: .box)
        var list = outer.nestedUnkeyedContainer(forKey: .list)
        let last = outer.superEncoder(forKey: .last)
        for value in b.dropLast() { try list.encode(value) }
        try (b.last ?? 0).encode(to: last)
        try box.encode(a, forKey: .a)
      }
    }
    let value = Manual(a: 5, b: [1, 2, 3])
    #expect(try Codec<Manual>.codable.decode(Codec<Manual>.codable.encoded(value)) == value)
  }

  @Test func aRecordMayAskForTheCodableCodec() throws {
    struct Nested: Record, Equatable {
      var map: [String: [Int]]
      static func recordCodec() throws(RecordsError) -> Codec<Nested> { .codable }
    }
    let codec = try Codec<Nested>.record
    #expect(codec.schema.form == .codable)
    #expect(try codec.decode(codec.encoded(Nested(map: ["a": [1]]))) == Nested(map: ["a": [1]]))
  }
}
