import Bytes
import Dataflow
import Records
import Testing

struct KeyColumnTests {
  @Test func integersOfAnyWidthHaveOneKeyAndComeBack() {
    var column = KeyColumn()
    column.append(Int64(-5))
    column.append(Int8(-5))
    column.append(UInt16(7))
    column.append(Double(-1.5))
    let keys = (0..<4).map { index in unsafe column.withBytes(at: index) { unsafe [UInt8]($0) } }
    #expect(keys[0] == keys[1])
    #expect(keys[0] == [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFB])
    #expect(keys[2] == [0, 0, 0, 0, 0, 0, 0, 7])
    unsafe column.withBytes(at: 0) { bytes in
      let wide = unsafe Int64.decodeKey(bytes)
      let narrow = unsafe Int8.decodeKey(bytes)
      let unsigned = unsafe UInt8.decodeKey(bytes)
      #expect(wide == -5 && narrow == -5 && unsigned == nil)
    }
    let double = unsafe column.withBytes(at: 3) { unsafe Double.decodeKey($0) }
    #expect(double == -1.5)
  }

  @Test func keysOfEveryLengthKeepTheirBytesAndTheirHash() {
    var column = KeyColumn()
    let lengths = [0, 1, 7, 8, 9, 14, 15, 16, 17, 40, 511, 10_000]
    for length in lengths { column.append([UInt8](repeating: UInt8(length % 251), count: length)) }
    var copies = KeyColumn()
    for index in lengths.indices { copies.append(from: column, at: index) }
    let third = copies.copy()
    for (index, length) in lengths.enumerated() {
      let bytes = [UInt8](repeating: UInt8(length % 251), count: length)
      let hash = unsafe bytes.withUnsafeBytes { unsafe KeyHash($0) }
      let stored = unsafe third.withBytes(at: index) { unsafe [UInt8]($0) }
      #expect(stored == bytes)
      #expect(column.hash(at: index) == hash && third.hash(at: index) == hash)
    }
  }

  @Test func theHashOfEightBytesIsXXH64() {
    for word in [0, 1, UInt64.max, 0x0123_4567_89AB_CDEF] {
      let hash = unsafe withUnsafeBytes(of: word) { unsafe KeyHash($0) }
      #expect(KeyHash(eightBytes: word) == hash)
    }
  }

  @Test func aNamespaceStaysInTheKeysGroup() {
    var keys = KeyColumn()
    for index in 0..<200 { keys.append("key-\(index)") }
    var windows = KeyColumn()
    for index in 0..<200 { windows.append(from: keys, at: index, namespace: Int64(index) - 100) }
    for index in 0..<200 {
      #expect(windows.hash(at: index).keyGroup == keys.hash(at: index).keyGroup)
      let bytes = unsafe windows.withBytes(at: index) { unsafe [UInt8]($0) }
      var expected = ByteBuffer()
      KeyEncoding.append("key-\(index)", to: &expected)
      KeyEncoding.append(Int64(index) - 100, to: &expected)
      #expect(bytes == expected.array)
    }
  }
}
