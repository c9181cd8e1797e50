internal import Bytes
internal import LMDB

/// All views of a store as one commit has them. Immutable.
package final class Catalogue: Sendable {
  /// Rises with every commit that changed the catalogue.
  let version: UInt64
  package let schemas: [ViewSchema]
  let nextView: UInt32

  init(version: UInt64, nextView: UInt32, schemas: [ViewSchema]) {
    self.version = version
    self.nextView = nextView
    self.schemas = schemas
  }

  package func schema(named name: String) -> ViewSchema? { schemas.first { $0.name == name } }
  package func schema(id: UInt32) -> ViewSchema? { schemas.first { $0.definition.id == id } }
}

/// The database "views".
///
/// | key | value |
/// |---|---|
/// | `c` | catalogue format (4), version (8), next view id (4), CRC-32C of these (4); little-endian |
/// | `v` ‖ view id (4, big-endian) | the definition, see `DefinitionCoding` |
enum CatalogueStore {
  static let format: UInt32 = 1
  private static let headKey: [UInt8] = [UInt8(ascii: "c")]

  /// The version of the catalogue that `transaction` sees; 0 if nothing was ever written.
  static func version<T: ReadableTransaction & ~Copyable>(
    _ database: Database, in transaction: borrowing T
  ) throws -> UInt64 {
    try head(database, in: transaction).version
  }

  private static func head<T: ReadableTransaction & ~Copyable>(
    _ database: Database, in transaction: borrowing T
  ) throws -> (version: UInt64, nextView: UInt32) {
    guard let bytes = unsafe try headKey.withUnsafeBytes({ unsafe try transaction.get(database, $0) }) else {
      return (0, 1)
    }
    guard bytes.count == 20 else { throw DefinitionCoding.damaged }
    let format = unsafe bytes.little(UInt32.self, at: 0)
    guard format <= Self.format else {
      throw ViewError(.newerFormat, "the view catalogue has format \(format); update the library")
    }
    guard unsafe bytes.little(UInt32.self, at: 16) == CRC32C.checksum(bytes.slice(0, 16)) else {
      throw DefinitionCoding.damaged
    }
    return unsafe (bytes.little(UInt64.self, at: 4), bytes.little(UInt32.self, at: 12))
  }

  static func load<T: ReadableTransaction & ~Copyable>(
    _ database: Database, in transaction: borrowing T
  ) throws -> Catalogue {
    let (version, nextView) = try head(database, in: transaction)
    var schemas: [ViewSchema] = []
    try transaction.withCursor(database) { cursor in
      let first = key(0)
      var isThere = unsafe try first.withUnsafeBytes { unsafe try cursor.seek(atLeast: $0) }
      while isThere, unsafe cursor.key.count == 5, unsafe cursor.key[0] == UInt8(ascii: "v") {
        unsafe schemas.append(ViewSchema(try DefinitionCoding.decode(cursor.value)))
        isThere = try cursor.next()
      }
    }
    return Catalogue(version: version, nextView: nextView, schemas: schemas)
  }

  private static func key(_ view: UInt32) -> [UInt8] {
    [UInt8(ascii: "v")] + (0..<4).map { UInt8(truncatingIfNeeded: view >> UInt32(24 - 8 * $0)) }
  }

  /// Writes `definition`, or removes the view's entry if there is none any more, and raises the catalogue's version.
  static func put(
    _ definition: ViewDefinition?, id: UInt32, _ catalogue: Catalogue, _ database: Database,
    in transaction: borrowing WriteTransaction
  ) throws {
    let key = key(id)
    if let definition {
      let bytes = DefinitionCoding.encode(definition)
      unsafe try key.withUnsafeBytes { key in
        unsafe try bytes.withUnsafeBytes { unsafe try transaction.put(database, key: key, value: $0, .upsert) }
      }
    } else {
      _ = unsafe try key.withUnsafeBytes { unsafe try transaction.delete(database, key: $0) }
    }
    var head = ByteBuffer(capacity: 32)
    head.append(format)
    head.append(catalogue.version + 1)
    head.append(max(catalogue.nextView, id + 1))
    unsafe head.append(CRC32C.checksum(head.bytes))
    unsafe try headKey.withUnsafeBytes { unsafe try transaction.put(database, key: $0, value: head.bytes, .upsert) }
  }
}
