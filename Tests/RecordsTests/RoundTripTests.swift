import Bytes
import Records
import Testing

@Suite struct RoundTripTests {
  @Test func aRecordOfEveryKindComesBack() throws {
    let codec = try Codec<Everything>.record
    var random = SeededRandom()
    for _ in 0..<500 {
      let value = Everything.random(&random)
      let bytes = try codec.encoded(value)
      #expect(try codec.decode(bytes) == value, "seed \(random.seed)")
      #expect(try codec.encoded(value) == bytes)
    }
  }
}
