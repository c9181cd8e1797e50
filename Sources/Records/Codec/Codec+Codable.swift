internal import Bytes

extension Codec where Value: Codable & Sendable {
  /// Any `Codable` value, in CBOR (RFC 8949) with its property names: about fifty times the time of a planned record
  /// and twice its bytes. Its own `init(from:)` and `encode(to:)` are called, so it decides itself how old data is
  /// read: a new property must be optional or have its default there.
  ///
  /// Equal values need not have equal bytes: a `Dictionary` or `Set` is written in whatever order it is in.
  public static var codable: Codec {
    Codec(
      schema: .codable, fixedSize: nil,
      encoding: .custom { (value, buffer) throws(RecordsError) in
        let encoder = CBOREncoder(codingPath: [])
        do { try encoder.append(copy value, path: []) } catch { throw .encoding(error, type: Value.self) }
        buffer.append(encoder.contents.bytes)
      },
      decoding: unsafe .custom { (bytes) throws(RecordsError) in
        let reader = unsafe CBORReader(bytes: [UInt8](bytes))
        let end: Int
        let value: Value
        do {
          end = try reader.end(of: 0, depth: 0)
          let top = CBORDecoder(reader, at: 0, depth: 0, codingPath: [])
          value = try top.read(Value.self, at: 0, nil as CBORKey?)
        } catch { throw .decoding(error, type: Value.self) }
        guard end == bytes.count else {
          throw RecordsError(
            .malformed, type: "\(Value.self)", offset: end, "\(bytes.count - end) bytes too many",
            advice: "the data is damaged")
        }
        return value
      },
      evolve: { writer throws(RecordsError) in throw .form(writer, read: .codable, type: "\(Value.self)") })
  }
}

extension RecordsError {
  /// What a value's `encode(to:)` threw.
  static func encoding(_ error: any Error, type: Any.Type) -> RecordsError {
    var field: String?
    if case EncodingError.invalidValue(_, let context)? = error as? EncodingError { field = context.path }
    return RecordsError(
      .unencodable, type: "\(type)", field: field, "the value could not be encoded",
      advice: "see what its encode(to:) threw", cause: error)
  }

  /// What a value's `init(from:)` threw, or what was found wrong with the bytes.
  static func decoding(_ error: any Error, type: Any.Type) -> RecordsError {
    if let error = error as? RecordsError {
      return RecordsError(
        error.code, type: "\(type)", field: error.field, offset: error.offset, error.reason, advice: error.advice,
        cause: error.cause)
    }
    var field: String?
    var reason = "the value could not be decoded"
    switch error as? DecodingError {
    case .keyNotFound(let key, let context)?:
      field = (context.codingPath + [key]).map(\.stringValue).joined(separator: ".")
      reason = "the data does not have the property"
    case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?, .dataCorrupted(let context)?:
      field = context.path
      reason = context.debugDescription
    default: break
    }
    return RecordsError(
      .malformed, type: "\(type)", field: field, reason,
      advice: "the data is damaged, or of an older form that the type's init(from:) does not read", cause: error)
  }
}

private protocol CodingContext {
  var codingPath: [any CodingKey] { get }
}
extension EncodingError.Context: CodingContext {}
extension DecodingError.Context: CodingContext {}
extension CodingContext {
  fileprivate var path: String? {
    codingPath.isEmpty ? nil : codingPath.map(\.stringValue).joined(separator: ".")
  }
}
