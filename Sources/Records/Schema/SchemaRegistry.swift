internal import Synchronization

/// The schemas of a store by fingerprint: what data was written with, so that it can be read as today's types.
///
/// The registry decides; keeping the bytes is its storage's part. May be used from any thread; a schema is read from
/// storage once.
public final class SchemaRegistry: Sendable {
  /// Where the schemas are kept, as bytes by fingerprint.
  public struct Storage: Sendable {
    let load: @Sendable (UInt64) throws -> [UInt8]?
    let save: @Sendable (UInt64, [UInt8]) throws -> Void

    /// - Parameters:
    ///   - load: The bytes saved under a fingerprint, or nil.
    ///   - save: Keeps bytes under a fingerprint; durable, at the latest, with the first data that names it. Called
    ///     again with the same bytes if two threads register one schema at once.
    public init(
      load: @escaping @Sendable (UInt64) throws -> [UInt8]?, save: @escaping @Sendable (UInt64, [UInt8]) throws -> Void
    ) {
      self.load = load
      self.save = save
    }

    /// Kept in memory only.
    public static func inMemory() -> Storage {
      final class Kept: Sendable { let bytes = Mutex<[UInt64: [UInt8]]>([:]) }
      let kept = Kept()
      return Storage(
        load: { fingerprint in kept.bytes.withLock { $0[fingerprint] } },
        save: { fingerprint, bytes in kept.bytes.withLock { $0[fingerprint] = bytes } })
    }
  }

  private let storage: Storage
  private let known = Mutex<[UInt64: Schema]>([:])

  public init(storage: Storage) { self.storage = storage }

  /// Makes `schema` known, if it is not, and gives its fingerprint. To be called before anything is written with it.
  ///
  /// - Throws: ``RecordsError`` with code `.storage` if it cannot be kept, `.schemaCollision` if another schema has its
  ///   fingerprint, `.malformed` if what is kept there is damaged.
  @discardableResult
  public func register(_ schema: Schema) throws(RecordsError) -> UInt64 {
    let fingerprint = schema.fingerprint
    if let same = known.withLock({ $0[fingerprint] }) {
      guard same == schema else { throw collision(schema, same) }
      return fingerprint
    }
    if let kept = try load(fingerprint) {
      guard kept == schema else { throw collision(schema, kept) }
    } else {
      do { try storage.save(fingerprint, schema.encoded()) } catch {
        throw RecordsError(
          .storage, "the schema \(schema) could not be kept", advice: "see the cause, then try again", cause: error)
      }
    }
    known.withLock { $0[fingerprint] = schema }
    return fingerprint
  }

  /// The schema with `fingerprint`.
  ///
  /// - Throws: ``RecordsError`` with code `.unknownSchema` if there is none, otherwise as ``register(_:)``.
  public func schema(_ fingerprint: UInt64) throws(RecordsError) -> Schema {
    if let schema = known.withLock({ $0[fingerprint] }) { return schema }
    guard let schema = try load(fingerprint) else {
      throw RecordsError(
        .unknownSchema, "no schema with fingerprint \(hexadecimal(fingerprint)) is known",
        advice: "the data is damaged, or was copied without the store's schemas")
    }
    known.withLock { $0[fingerprint] = schema }
    return schema
  }

  private func load(_ fingerprint: UInt64) throws(RecordsError) -> Schema? {
    let bytes: [UInt8]?
    do { bytes = try storage.load(fingerprint) } catch {
      throw RecordsError(
        .storage, "the schema \(hexadecimal(fingerprint)) could not be read", advice: "see the cause, then try again",
        cause: error)
    }
    guard let bytes else { return nil }
    let schema = try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(RecordsError) in
      try unsafe Schema(decoding: bytes)
    }
    guard schema.fingerprint == fingerprint else {
      throw RecordsError(
        .malformed,
        "the schema kept under \(hexadecimal(fingerprint)) has fingerprint "
          + hexadecimal(schema.fingerprint), advice: "the store's schemas are damaged")
    }
    return schema
  }

  private func collision(_ schema: Schema, _ other: Schema) -> RecordsError {
    RecordsError(
      .schemaCollision, "the schemas \(schema) and \(other) both have fingerprint \(hexadecimal(schema.fingerprint))",
      advice: "rename a field of the new type")
  }

  private func hexadecimal(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }
}
