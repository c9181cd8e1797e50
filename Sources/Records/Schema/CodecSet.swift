/// One type's codecs by the schema that data was written with: for readers of data of several ages.
///
/// For one thread at a time; the last one used is found by a comparison.
public struct CodecSet<Value> {
  /// The codec of the type as it is now: what new values are written with.
  public let current: Codec<Value>
  private let registry: SchemaRegistry
  private var codecs: [UInt64: Codec<Value>]
  private var last: (fingerprint: UInt64, codec: Codec<Value>)

  /// - Throws: ``RecordsError`` if the codec's own schema cannot be registered.
  public init(_ codec: Codec<Value>, registry: SchemaRegistry) throws(RecordsError) {
    current = codec
    self.registry = registry
    let fingerprint = try registry.register(codec.schema)
    codecs = [fingerprint: codec]
    last = (fingerprint, codec)
  }

  /// The codec for values written with the schema of `fingerprint`.
  ///
  /// - Throws: ``RecordsError`` with code `.unknownSchema`, or `.incompatibleSchema` naming the field.
  public mutating func codec(writtenWith fingerprint: UInt64) throws(RecordsError) -> Codec<Value> {
    if last.fingerprint == fingerprint { return last.codec }
    let codec: Codec<Value>
    if let known = codecs[fingerprint] {
      codec = known
    } else {
      codec = try current.reading(writtenWith: registry.schema(fingerprint))
      codecs[fingerprint] = codec
    }
    last = (fingerprint, codec)
    return codec
  }
}
