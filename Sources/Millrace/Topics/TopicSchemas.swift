public import Records
import Synchronization

/// The schemas with which a topic's values were written, by their numbers (the first byte of every value), and a codec
/// for each that reads it as the type at hand.
@usableFromInline
final class TopicSchemas<Event: Sendable>: Sendable {
  /// The codec of the type at hand: what is written.
  @usableFromInline let codec: Codec<Event>
  /// Its number in the topic.
  @usableFromInline let number: UInt8
  private let topic: String
  private let readers: Mutex<[UInt8: Codec<Event>]>
  /// Looks again at what the store knows: another process may have added a schema.
  private let reload: @Sendable () throws -> [Schema]

  /// - Parameter known: the topic's schemas in the order of their numbers.
  /// - Throws: `RecordsError` naming the field that keeps one of them from being read as `Event`.
  init(
    _ topic: String, codec: Codec<Event>, number: UInt8, known: [Schema],
    reload: @escaping @Sendable () throws -> [Schema]
  ) throws {
    self.topic = topic
    self.codec = codec
    self.number = number
    self.reload = reload
    readers = Mutex(try Self.codecs(codec, known))
  }

  private static func codecs(_ codec: Codec<Event>, _ schemas: [Schema]) throws -> [UInt8: Codec<Event>] {
    var codecs: [UInt8: Codec<Event>] = [:]
    for (index, schema) in schemas.enumerated() {
      codecs[UInt8(truncatingIfNeeded: index)] = try codec.reading(writtenWith: schema)
    }
    return codecs
  }

  /// The codec that reads values of schema `number`.
  @usableFromInline
  func codec(number: UInt8) throws -> Codec<Event> {
    if let codec = readers.withLock({ $0[number] }) { return codec }
    let codecs = try Self.codecs(codec, try reload())
    guard let found = codecs[number] else {
      throw StoreError(
        .undecodableRecord, path: "topic \(topic)",
        detail: "a value begins with schema number \(number), the topic has \(codecs.count) schemas")
    }
    readers.withLock { $0 = codecs }
    return found
  }

  @usableFromInline
  static var noSchemaNumber: StoreError {
    StoreError(
      .undecodableRecord, path: "topic", detail: "the value is empty; a typed value begins with its schema's number")
  }
}
