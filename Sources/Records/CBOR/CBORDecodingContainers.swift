// One generic `decode` answers all the overloads that the protocols ask for: each scalar reads itself.

struct CBORKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: CBORDecoder
  let map: CBORMap
  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { map.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { map.value(of: key.stringValue) != nil }

  private func offset(of key: some CodingKey) throws -> Int {
    guard let offset = map.value(of: key.stringValue) else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: codingPath, debugDescription: "the data has no '\(key.stringValue)'"))
    }
    return offset
  }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder.reader.isNull(at: offset(of: key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.read(type, at: offset(of: key), key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.inner(at: offset(of: key), key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.inner(at: offset(of: key), key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    let key = CBORKey("super")
    return try decoder.inner(at: offset(of: key), key)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder.inner(at: offset(of: key), key) }
}

struct CBORUnkeyedDecoding: UnkeyedDecodingContainer {
  let decoder: CBORDecoder
  let count: Int?
  private(set) var currentIndex = 0
  private var next: Int

  init(_ decoder: CBORDecoder) throws(RecordsError) {
    self.decoder = decoder
    let head = try decoder.reader.head(at: decoder.offset)
    guard head.major == .array else {
      throw decoder.reader.mismatch("an array", at: decoder.offset).at(decoder.codingPath, nil as CBORKey?)
    }
    count = try decoder.reader.count(of: head, at: decoder.offset)
    next = head.next
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var isAtEnd: Bool { currentIndex == count }

  /// Where the element begins that is read now; steps over it.
  private mutating func advance() throws -> (offset: Int, key: CBORKey) {
    let key = CBORKey(currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self, DecodingError.Context(codingPath: codingPath + [key], debugDescription: "the array ends before it"))
    }
    let offset = next
    next = try decoder.reader.end(of: offset, depth: decoder.depth + 1)
    currentIndex += 1
    return (offset, key)
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, try decoder.reader.isNull(at: next) else { return false }
    _ = try advance()
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let element = try advance()
    return try decoder.read(type, at: element.offset, element.key)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let element = try advance()
    return try decoder.inner(at: element.offset, element.key).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let element = try advance()
    return try decoder.inner(at: element.offset, element.key).unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    let element = try advance()
    return try decoder.inner(at: element.offset, element.key)
  }
}

struct CBORSingleDecoding: SingleValueDecodingContainer {
  let decoder: CBORDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool {
    // An item that cannot be read is no nil: reading its value then says what is wrong.
    (try? decoder.reader.isNull(at: decoder.offset)) ?? false
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.read(type, at: decoder.offset, nil as CBORKey?) }
}
