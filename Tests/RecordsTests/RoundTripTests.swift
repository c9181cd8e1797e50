import Bytes
import Records
import Testing

@Suite struct RoundTripTests {
  @Test func aRecordOfEveryKindComesBack() throws {
    let codec = try Codec<Everything>.record
    var random = SeededRandom()
    for _ in 0..<300 {
      let value = Everything.random(&random)
      let bytes = try codec.encoded(value)
      #expect(try codec.decode(bytes) == value, "seed \(random.seed)")
    }
  }

  @Test func equalValuesHaveEqualBytesWhateverThePaddingHolds() throws {
    struct Padded: Record {
      var small: Int8
      var large: Int64
      var flag: Bool
      var maybe: Int32?
      var last: Int16
    }
    let codec = try Codec<Padded>.record
    #expect(codec.fixedSize == 1 + 1 + 8 + 1 + 4 + 2)
    let size = MemoryLayout<Padded>.size
    var encodings: Set<[UInt8]> = []
    for filler in [0x00, 0x55, 0xFF] as [UInt8] {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
      defer { memory.deallocate() }
      memory.initializeMemory(as: UInt8.self, repeating: filler, count: size)
      let value = memory.assumingMemoryBound(to: Padded.self)
      value.pointee.small = -1
      value.pointee.large = 7
      value.pointee.flag = true
      value.pointee.maybe = nil
      value.pointee.last = 9
      encodings.insert(try codec.encoded(value.pointee))
    }
    #expect(encodings.count == 1)
  }

  @Test func theFormatIsTheDocumentedOne() throws {
    struct Sample: Record {
      var name: String
      var count: Int32?
      var city: String?
      var score: Double
    }
    let codec = try Codec<Sample>.record
    let bytes = try codec.encoded(Sample(name: "ab", count: nil, city: "xyz", score: 1))
    let nulls: [UInt8] = [0b01]
    let slots: [UInt8] = [2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]
    #expect(bytes == nulls + slots + Array("abxyz".utf8))
  }

  @Test func plainStructsAreTheirMemory() throws {
    struct Plain: Record, Equatable {
      var a: Int64
      var b: Double
      var c: Int32
      var d: UInt16
    }
    let codec = try Codec<Plain>.record
    let layout = try RecordLayout.of(Plain.self)
    #expect(layout.isPlain && codec.fixedSize == 22)
    let value = Plain(a: -1, b: 2.5, c: 3, d: 4)
    let bytes = try codec.encoded(value)
    #expect(bytes == withUnsafeBytes(of: value) { Array($0) })
    #expect(try codec.decode(bytes) == value)
    let error = #expect(throws: RecordsError.self) { try codec.decode(Array(bytes.dropLast())) }
    #expect(error?.code == .malformed)
  }

  @Test func scalarsAreRecords() throws {
    #expect(try Codec<Int64>.record.encoded(-2) == [0xFE, 255, 255, 255, 255, 255, 255, 255])
    #expect(try Codec<Int64>.fixed.encoded(-2) == Codec<Int64>.record.encoded(-2))
    #expect(Codec<Int64>.fixed.schema == (try Codec<Int64>.record.schema))
    #expect(try Codec<String>.record.encoded("é") == Array("é".utf8))
    #expect(try Codec<String>.record.decode([]) == "")
    #expect(try Codec<[UInt8]>.record.encoded([1, 2]) == [1, 2])
    #expect(try Codec<Int32?>.record.decode(Codec<Int32?>.record.encoded(nil)) == nil)
    #expect(try Codec<String?>.record.decode(Codec<String?>.record.encoded("x")) == "x")
    #expect(try Codec<[String]>.record.decode(Codec<[String]>.record.encoded(["", "a"])) == ["", "a"])
    #expect(try Codec<Bool>.fixed.decode([1]))
    #expect(throws: RecordsError.self) { try Codec<Bool>.fixed.decode([2]) }
    #expect(throws: RecordsError.self) { try Codec<Bool>.record.decode([2]) }
    #expect(try Codec<[UInt8]>.raw.decode([9, 8]) == [9, 8])
  }

  @Test func anEmptyStructHasNoBytes() throws {
    struct Nothing: Record, Equatable {}
    let codec = try Codec<Nothing>.record
    #expect(codec.fixedSize == 0)
    #expect(try codec.encoded(Nothing()).isEmpty)
    #expect(try codec.decode([]) == Nothing())
    #expect(throws: RecordsError.self) { try codec.decode([0]) }
  }

  @Test func decodingFreesWhatItMadeBeforeItFailed() throws {
    // Two long strings, of which the second is not UTF-8: under a leak checker nothing is left.
    struct Two: Record {
      var first: String
      var second: String
    }
    let codec = try Codec<Two>.record
    var bytes = try codec.encoded(Two(first: String(repeating: "a", count: 100), second: "bbbb"))
    bytes[bytes.count - 1] = 0xFF
    let error = #expect(throws: RecordsError.self) { try codec.decode(bytes) }
    #expect(error?.field == "second")
    #expect(error?.offset == 108)
  }
}
