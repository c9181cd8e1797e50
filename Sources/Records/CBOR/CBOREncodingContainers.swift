// One generic `encode` answers all the overloads that the protocols ask for: each scalar writes itself.

struct CBORKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: CBOREncoder
  var codingPath: [any CodingKey] { encoder.codingPath }

  private func begin(_ key: some CodingKey) -> [any CodingKey] {
    encoder.willAppendElement()
    encoder.contents.append(text: key.stringValue)
    return encoder.codingPath + [key]
  }

  mutating func encodeNil(forKey key: Key) throws {
    _ = begin(key)
    encoder.contents.appendNull()
  }

  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try encoder.append(value, path: begin(key))
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    KeyedEncodingContainer(CBORKeyedEncoding<NestedKey>(encoder: encoder.child(path: begin(key), shape: .map)))
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    CBORUnkeyedEncoding(encoder: encoder.child(path: begin(key), shape: .array))
  }

  mutating func superEncoder() -> any Encoder { encoder.child(path: begin(CBORKey("super"))) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { encoder.child(path: begin(key)) }
}

struct CBORUnkeyedEncoding: UnkeyedEncodingContainer {
  let encoder: CBOREncoder
  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.count }

  private func begin() -> [any CodingKey] {
    let path = encoder.codingPath + [CBORKey(encoder.count)]
    encoder.willAppendElement()
    return path
  }

  mutating func encodeNil() throws {
    _ = begin()
    encoder.contents.appendNull()
  }

  mutating func encode<T: Encodable>(_ value: T) throws { try encoder.append(value, path: begin()) }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    KeyedEncodingContainer(CBORKeyedEncoding<NestedKey>(encoder: encoder.child(path: begin(), shape: .map)))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    CBORUnkeyedEncoding(encoder: encoder.child(path: begin(), shape: .array))
  }

  mutating func superEncoder() -> any Encoder { encoder.child(path: begin()) }
}

struct CBORSingleEncoding: SingleValueEncodingContainer {
  let encoder: CBOREncoder
  var codingPath: [any CodingKey] { encoder.codingPath }

  mutating func encodeNil() throws {
    encoder.become(.single)
    encoder.contents.appendNull()
  }

  mutating func encode<T: Encodable>(_ value: T) throws {
    encoder.become(.single)
    try encoder.append(value, path: codingPath)
  }
}

/// A key that is only a name or a position.
struct CBORKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ index: Int) {
    stringValue = "\(index)"
    intValue = index
  }

  init(_ name: String) {
    stringValue = name
    intValue = nil
  }

  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { self.init(intValue) }
}
