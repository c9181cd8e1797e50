/// Writes one value as a CBOR item: keyed containers as maps with text keys, unkeyed ones as arrays.
///
/// A reference, as `Codable` hands one container's encoder to several places. Lives for one call on one thread.
final class CBOREncoder: Encoder {
  enum Shape { case empty, single, array, map }

  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private(set) var shape = Shape.empty
  private(set) var count = 0
  var contents = CBORBytes()
  // Containers handed out and still open, with where in `contents` they will stand.
  private var children: [(position: Int, encoder: CBOREncoder)] = []

  init(codingPath: [any CodingKey]) { self.codingPath = codingPath }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    become(.map)
    return KeyedEncodingContainer(CBORKeyedEncoding<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    become(.array)
    return CBORUnkeyedEncoding(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { CBORSingleEncoding(encoder: self) }

  func become(_ new: Shape) {
    precondition(
      shape == .empty || (shape == new && new != .single),
      "encode(to:) asked for a second kind of container, or encoded two single values")
    shape = new
  }

  func willAppendElement() { count += 1 }

  func append<T: Encodable>(_ value: T, path: [any CodingKey]) throws {
    if let scalar = value as? any CBORScalar { return scalar.write(to: &contents) }
    let child = CBOREncoder(codingPath: path)
    try value.encode(to: child)
    contents.append(contentsOf: child.finished())
  }

  /// An encoder of an element that may be written later.
  func child(path: [any CodingKey], shape: Shape = .empty) -> CBOREncoder {
    let child = CBOREncoder(codingPath: path)
    if shape != .empty { child.become(shape) }
    children.append((contents.bytes.count, child))
    return child
  }

  /// The item. A value that wrote nothing is an empty map, as a struct without properties is.
  func finished() -> [UInt8] {
    var item = CBORBytes()
    switch shape {
    case .array: item.append(.array, UInt64(count))
    case .map, .empty: item.append(.map, UInt64(count))
    case .single: break
    }
    var position = 0
    for child in children {
      item.append(contentsOf: contents.bytes[position..<child.position])
      item.append(contentsOf: child.encoder.finished())
      position = child.position
    }
    item.append(contentsOf: contents.bytes[position...])
    return item.bytes
  }
}
