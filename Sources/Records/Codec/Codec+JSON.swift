internal import Bytes
internal import FoundationEssentials

extension Codec where Value: Codable & Sendable {
  /// Any `Codable` value as JSON text, with its keys in order: for topics that other programs read or write. Slow.
  ///
  /// NaN and the infinities are written as the strings "NaN", "+Infinity" and "-Infinity".
  public static var json: Codec {
    Codec(
      schema: .json, fixedSize: nil,
      encoding: .custom { (value, buffer) throws(RecordsError) in
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
          positiveInfinity: "+Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do { buffer.append([UInt8](try encoder.encode(copy value))) } catch {
          throw .encoding(error, type: Value.self)
        }
      },
      decoding: unsafe .custom { (bytes) throws(RecordsError) in
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
          positiveInfinity: "+Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do { return try unsafe decoder.decode(Value.self, from: Data(bytes)) } catch {
          throw .decoding(error, type: Value.self)
        }
      },
      evolve: { writer throws(RecordsError) in throw .form(writer, read: .json, type: "\(Value.self)") })
  }
}
