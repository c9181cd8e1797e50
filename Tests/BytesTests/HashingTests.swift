import Bytes
import Testing

@Suite struct HashingTests {
  @Test(arguments: [
    ("", 0xEF46_DB37_51D8_E999 as UInt64), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
  ])
  func xxh64MatchesPublishedVectors(text: String, expected: UInt64) {
    let hash = unsafe Array(text.utf8).withUnsafeBytes { unsafe KeyHash($0) }
    #expect(hash.value == expected)
  }

  @Test func crc32cMatchesTheCheckValue() {
    let bytes = Array("123456789".utf8)
    #expect(unsafe bytes.withUnsafeBytes { unsafe CRC32C.checksum($0) } == 0xE306_9283)
    let head = unsafe bytes[..<4].withUnsafeBytes { unsafe CRC32C.checksum($0) }
    #expect(unsafe bytes[4...].withUnsafeBytes { unsafe CRC32C.checksum($0, seed: head) } == 0xE306_9283)
  }

  @Test func keyGroupsCoverEverySubtask() {
    for parallelism in 1...128 {
      let owners = (0..<KeyHash.keyGroups).map { KeyHash.subtask(ofKeyGroup: $0, parallelism: parallelism) }
      #expect(owners == owners.sorted())
      #expect(Set(owners).count == parallelism)
    }
  }

  @Test func timestampsSaturate() {
    #expect(Timestamp.max + .seconds(1) == .max)
    #expect(Timestamp.min - .seconds(1) == .min)
    #expect(Timestamp(milliseconds: .max) == .max)
    #expect(Timestamp.min.microseconds(since: .max) == .min)
  }
}
