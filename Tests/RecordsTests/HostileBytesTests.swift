import Bytes
import Records
import Testing

/// No bytes make decoding trap: they give a value or a `RecordsError`.
@Suite struct HostileBytesTests {
  private func attack<T: Sendable>(_ codec: Codec<T>, _ value: T, _ random: inout SeededRandom) throws {
    let good = try codec.encoded(value)
    for cut in 0..<good.count { try attempt(codec, Array(good[..<cut])) }
    for _ in 0..<300 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        bytes[index] = random.flip() ? random.any() : bytes[index] ^ (1 << UInt8.random(in: 0...7, using: &random))
      }
      if random.flip() { bytes += random.bytes() }
      try attempt(codec, bytes)
      try attempt(codec, random.bytes())
    }
  }

  private func attempt<T>(_ codec: Codec<T>, _ bytes: [UInt8]) throws {
    // An exact allocation, so that a memory checker sees a read beyond the end.
    do throws(RecordsError) { _ = try codec.decode(bytes) } catch {
      #expect(error.code == .malformed)
      #expect(!error.description.isEmpty)
    }
  }

  @Test func plannedRecords() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let codec = try Codec<Everything>.record
    for _ in 0..<5 { try attack(codec, Everything.random(&random), &random) }
  }

  @Test func oldRecords() throws {
    struct Subset: Record {
      var maybeText: String?
      var id: Bytes16
      var words: [String]
      var kind: Kind
      var i32: Int64?
      var absent: String?
    }
    var random = SeededRandom()
    print("seed \(random.seed)")
    let writer = try Codec<Everything>.record
    let reader = try Codec<Subset>.record.reading(writtenWith: writer.schema)
    for _ in 0..<300 {
      var bytes = try writer.encoded(Everything.random(&random))
      for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = random.any() }
      try attempt(reader, bytes)
      try attempt(reader, Array(bytes.dropLast(Int.random(in: 0..<bytes.count, using: &random))))
    }
  }

  @Test func codableRecords() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<3 { try attack(Codec<Everything>.codable, Everything.random(&random), &random) }
  }

  @Test func schemas() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let good = try Codec<Everything>.record.schema.encoded()
    for _ in 0..<2000 {
      var bytes = good
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = random.any()
      if random.flip() { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      do throws(RecordsError) {
        let schema = try bytes.span.bytes.withUnsafeBytes { raw throws(RecordsError) in try Schema(decoding: raw) }
        #expect(schema.encoded() == bytes)
      } catch { #expect(error.code == .malformed) }
    }
  }

  @Test func untypedValues() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let codec = try Codec<Everything>.record
    for _ in 0..<500 {
      var bytes = try codec.encoded(Everything.random(&random))
      #expect(throws: Never.self) {
        try bytes.withUnsafeBytes { try codec.schema.dynamicValues($0) }
      }
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = random.any()
      if random.flip() { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      _ = try? bytes.withUnsafeBytes { try codec.schema.dynamicValues($0) }
    }
  }

  @Test func deepNestingIsRefused() throws {
    struct Tree: Codable, Sendable { var children: [Tree] }
    let name: [UInt8] = [0xA1, 0x68] + Array("children".utf8) + [0x81]
    let bytes = Array(repeatElement(name, count: 50_000).joined()) + [0x80]
    let error = #expect(throws: RecordsError.self) { try Codec<Tree>.codable.decode(bytes) }
    #expect(error?.reason.contains("nested") == true)
  }
}
