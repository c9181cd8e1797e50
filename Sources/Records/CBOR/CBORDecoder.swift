/// Reads one value from the CBOR item at an offset.
struct CBORDecoder: Decoder {
  let reader: CBORReader
  let offset: Int
  let depth: Int
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(_ reader: CBORReader, at offset: Int, depth: Int, codingPath: [any CodingKey]) {
    self.reader = reader
    self.offset = offset
    self.depth = depth
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(CBORKeyedDecoding<Key>(decoder: self, map: try CBORMap(self)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try CBORUnkeyedDecoding(self) }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { CBORSingleDecoding(decoder: self) }

  /// The decoder of an item inside this one.
  func inner(at offset: Int, _ key: (some CodingKey)?) throws(RecordsError) -> CBORDecoder {
    guard depth < CBORReader.maximumDepth else { throw reader.tooDeep(at: offset) }
    return CBORDecoder(reader, at: offset, depth: depth + 1, codingPath: key.map { codingPath + [$0] } ?? codingPath)
  }

  func read<T: Decodable>(_ type: T.Type, at offset: Int, _ key: (some CodingKey)?) throws -> T {
    if let scalar = type as? any CBORScalar.Type {
      let value: any CBORScalar
      do throws(RecordsError) { value = try scalar.read(reader, at: offset) } catch {
        throw error.at(codingPath, key)
      }
      if let value = value as? T { return value }
    }
    return try T(from: try inner(at: offset, key))
  }
}

extension RecordsError {
  /// The same error with the path of the property where it happened.
  func at(_ path: [any CodingKey], _ key: (some CodingKey)?) -> RecordsError {
    let names = path.map(\.stringValue) + (key.map { [$0.stringValue] } ?? [])
    return RecordsError(
      code, type: type, field: names.isEmpty ? nil : names.joined(separator: "."), offset: offset, reason,
      advice: advice, cause: cause)
  }
}

/// The entries of a map. Properties are mostly asked for in the order they were written, so the search goes on from the
/// last one found.
final class CBORMap {
  private struct Entry {
    let name: Range<Int>
    let value: Int
  }

  private let bytes: [UInt8]
  private var entries: [Entry] = []
  private var cursor = 0

  init(_ decoder: CBORDecoder) throws(RecordsError) {
    let reader = decoder.reader
    bytes = reader.bytes
    let head = try reader.head(at: decoder.offset)
    guard head.major == .map else {
      throw reader.mismatch("a map", at: decoder.offset).at(decoder.codingPath, nil as CBORKey?)
    }
    var next = head.next
    for _ in 0..<(try reader.count(of: head, at: decoder.offset)) {
      let key = try reader.head(at: next)
      guard key.major == .text else { throw reader.mismatch("a text key", at: next) }
      let name = try reader.contents(of: key, at: next)
      entries.append(Entry(name: name, value: name.upperBound))
      next = try reader.end(of: name.upperBound, depth: decoder.depth + 1)
    }
  }

  /// Where the value of `name` begins. If a name occurs twice, either may be found.
  func value(of name: String) -> Int? {
    for step in 0..<entries.count {
      let index = (cursor + step) % entries.count
      let entry = entries[index]
      if entry.name.count == name.utf8.count, bytes[entry.name].elementsEqual(name.utf8) {
        cursor = index + 1
        return entry.value
      }
    }
    return nil
  }

  var names: [String] { entries.map { String(decoding: bytes[$0.name], as: UTF8.self) } }
}
