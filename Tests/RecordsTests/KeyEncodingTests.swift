import Bytes
import Records
import Testing

extension Kind: RecordKey {}

@Suite struct KeyEncodingTests {
  private func key(_ value: some RecordKey, isPart: Bool = false) -> [UInt8] {
    var buffer = ByteBuffer()
    if isPart { value.appendKeyPart(to: &buffer) } else { value.appendKey(to: &buffer) }
    return buffer.array
  }

  /// Bytes order as values do, decode to the value, and differ for different values.
  private func check<K: RecordKey>(_ ordered: [K], _ isLess: (K, K) -> Bool) throws {
    for isPart in [false, true] {
      let keys = ordered.map { key($0, isPart: isPart) }
      for (i, left) in keys.enumerated() {
        for (j, right) in keys.enumerated() {
          #expect(
            left.lexicographicallyPrecedes(right) == isLess(ordered[i], ordered[j]), "\(ordered[i]) \(ordered[j])")
        }
        let decoded = try left.withUnsafeBytes { bytes in
          var reader = KeyReader(bytes)
          let value = try K.readKey(&reader, isLast: !isPart)
          try reader.end()
          return value
        }
        #expect(key(decoded, isPart: isPart) == left)
      }
    }
  }

  @Test func integersOrder() throws {
    try check([Int64.min, -256, -1, 0, 1, 255, 256, .max], <)
    try check([Int8.min, -1, 0, 1, .max], <)
    try check([UInt64.min, 1, 255, 256, .max], <)
    try check([false, true]) { !$0 && $1 }
    try check([Timestamp.min, Timestamp(microseconds: -1), Timestamp(microseconds: 0), .max], <)
    try check([Bytes16(high: 0, low: 1), Bytes16(high: 0, low: .max), Bytes16(high: 1, low: 0)], <)
  }

  @Test func nanIsAboveAllNumbersAndZerosAreOne() throws {
    let ordered: [Double] = [
      -.infinity, -.greatestFiniteMagnitude, -1, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 1,
      .greatestFiniteMagnitude, .infinity, .nan,
    ]
    try check(ordered) { $0.isNaN ? false : $1.isNaN ? true : $0 < $1 }
    #expect(key(-0.0) == key(0.0))
    #expect(key(-Double.nan) == key(Double.signalingNaN))
    #expect(key(Double(bitPattern: 0xFFFF_FFFF_FFFF_FFFF)) == key(Double.nan))
    #expect(key(Float.nan) == key(Double.nan))
    try check([-Float.infinity, -1.5, 0, 1.5, .infinity], <)
  }

  @Test func widthsDoNotShow() {
    #expect(key(Int8(-3)) == key(Int64(-3)))
    #expect(key(UInt16(7)) == key(UInt64(7)))
    #expect(key(Float(0.5)) == key(0.5))
  }

  @Test func stringsOrderByTheirBytes() throws {
    let ordered = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "e\u{301}", "z", "\u{E9}", "🙂"]
    try check(ordered) { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
    #expect(key("\u{E9}") != key("e\u{301}"))
    try check([[], [0], [0, 255], [1], [255], [255, 255]] as [[UInt8]]) { $0.lexicographicallyPrecedes($1) }
  }

  @Test func nilComesFirst() throws {
    try check([nil, Int64.min, 0, Int64.max]) { ($0 ?? .min, $0 == nil ? 0 : 1) < ($1 ?? .min, $1 == nil ? 0 : 1) }
    #expect(key(nil as String?).lexicographicallyPrecedes(key("" as String?)))
  }

  @Test func randomPairsOrderAsTuples() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var pairs: [(String?, Int32, [UInt8])] = []
    for _ in 0..<120 {
      pairs.append((random.maybe { $0.string() }, Int32.random(in: -2...2, using: &random), random.bytes()))
    }
    func bytes(_ pair: (String?, Int32, [UInt8])) -> [UInt8] {
      var buffer = ByteBuffer()
      KeyEncoding.append(pair.0, pair.1, pair.2, to: &buffer)
      return buffer.array
    }
    func precedes(_ left: (String?, Int32, [UInt8]), _ right: (String?, Int32, [UInt8])) -> Bool {
      let (a, b) = (left.0.map { Array($0.utf8) }, right.0.map { Array($0.utf8) })
      if a != b {
        guard let b else { return false }
        return a?.lexicographicallyPrecedes(b) ?? true
      }
      return left.1 != right.1 ? left.1 < right.1 : left.2.lexicographicallyPrecedes(right.2)
    }
    for left in pairs {
      for right in pairs {
        #expect(bytes(left).lexicographicallyPrecedes(bytes(right)) == precedes(left, right))
      }
      try bytes(left).withUnsafeBytes { raw in
        var reader = KeyReader(raw)
        #expect(try String?.readKey(&reader, isLast: false) == left.0)
        #expect(try Int32.readKey(&reader, isLast: false) == left.1)
        #expect(try [UInt8].readKey(&reader, isLast: true) == left.2)
        try reader.end()
      }
    }
  }

  @Test func onlyWhatAValueEncodesToDecodes() throws {
    func refuse<K: RecordKey>(_: K.Type, _ bytes: [UInt8]) {
      let error = #expect(throws: RecordsError.self) { _ = try bytes.withUnsafeBytes { try K(key: $0) } }
      #expect(error?.code == .malformed)
    }
    refuse(Int64.self, [1, 2, 3])
    refuse(Int64.self, [0, 0, 0, 0, 0, 0, 0, 0, 0])
    refuse(Int8.self, key(128))
    refuse(Bool.self, [2])
    refuse(Double.self, [0x7F, 255, 255, 255, 255, 255, 255, 255])  // −0
    refuse(Double.self, [255, 255, 255, 255, 255, 255, 255, 255])
    refuse(Float.self, key(0.1))
    refuse(String.self, [0xFF])
    refuse(Kind.self, Array("sale".utf8))
    for part in [[0x61], [0x61, 0], [0x61, 0, 2]] as [[UInt8]] {
      #expect(throws: RecordsError.self) {
        try part.withUnsafeBytes { raw in
          var reader = KeyReader(raw)
          _ = try reader.nextString(isLast: false)
        }
      }
    }
  }

  @Test func fieldsHaveTheKeysOfTheirProperties() throws {
    struct Row: Record, Equatable {
      var text: String
      var number: Int32?
      var kind: Kind
      var id: Bytes16
      var ratio: Float
      var blob: [UInt8]?
    }
    let layout = try RecordLayout.of(Row.self)
    let row = Row(
      text: "a\0b", number: -4, kind: .click, id: Bytes16(high: 1, low: 2), ratio: -0.5, blob: [0, 1, 0xFF])
    let expected: [[UInt8]] = [
      key(row.text, isPart: true), key(row.number, isPart: true), key(row.kind, isPart: true), key(row.id),
      key(row.ratio), key(row.blob),
    ]
    var all = ByteBuffer()
    withUnsafePointer(to: row) { pointer in
      for (index, field) in layout.fields.enumerated() {
        var one = ByteBuffer()
        field.appendKey(in: UnsafeRawPointer(pointer), isLast: index == 5, to: &one)
        #expect(one.array == expected[index])
        all.append(one.bytes)
      }
    }
    let target = UnsafeMutablePointer<Row>.allocate(capacity: 1)
    defer { target.deallocate() }
    try all.array.withUnsafeBytes { raw in
      var reader = KeyReader(raw)
      for (index, field) in layout.fields.enumerated() {
        try field.initialize(fromKey: &reader, isLast: index == 5, in: UnsafeMutableRawPointer(target))
      }
      try reader.end()
    }
    #expect(target.pointee == row)
    target.deinitialize(count: 1)
    try all.array.withUnsafeBytes { raw in
      var reader = KeyReader(raw)
      let text = try reader.nextDynamic(.string, isOptional: false, isLast: false)
      let number = try reader.nextDynamic(.int32, isOptional: true, isLast: false)
      #expect(text == .string("a\0b") && number == .integer(-4))
    }
  }
}
