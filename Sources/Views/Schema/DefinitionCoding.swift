internal import Bytes
internal import Tables

/// A definition as catalogue bytes. Strings and byte values carry a four-byte length; numbers are little-endian.
///
/// | content |
/// |---|
/// | format (2), view id (4), schema version (4), next column id (4), next index id (4), name |
/// | families (2), each: id (2), table (4) |
/// | columns (2), each: id (4), type (1), optional (1), family (2), added in version (4), name, initial default, write defaults (2), each: since version (4), value |
/// | indexes (2), each: id (4), table (4), name, columns (2), each: id (4) |
/// | CRC-32C of all before (4) |
///
/// A value is a tag (0 null, 1 bool, 2 integer, 3 unsigned, 4 real, 5 string, 6 bytes, 7 timestamp) and its content.
enum DefinitionCoding {
  static let format: UInt16 = 1

  static func encode(_ definition: ViewDefinition) -> [UInt8] {
    var out = ByteBuffer()
    out.append(format)
    out.append(definition.id)
    out.append(definition.version)
    out.append(definition.nextColumn)
    out.append(definition.nextIndex)
    append(definition.name, to: &out)
    out.append(UInt16(definition.families.count))
    for family in definition.families {
      out.append(family.id)
      out.append(family.table.value)
    }
    out.append(UInt16(definition.columns.count))
    for column in definition.columns { append(column, to: &out) }
    out.append(UInt16(definition.indexes.count))
    for index in definition.indexes {
      out.append(index.id)
      out.append(index.table.value)
      append(index.name, to: &out)
      out.append(UInt16(index.columns.count))
      for id in index.columns { out.append(id) }
    }
    unsafe out.append(CRC32C.checksum(out.bytes))
    return out.array
  }

  private static func append(_ column: ColumnDefinition, to out: inout ByteBuffer) {
    out.append(column.id)
    out.append(column.type.rawValue)
    out.append(column.isOptional ? 1 : 0 as UInt8)
    out.append(column.family)
    out.append(column.added)
    append(column.name, to: &out)
    append(column.initialDefault, to: &out)
    out.append(UInt16(column.writeDefaults.count))
    for value in column.writeDefaults {
      out.append(value.since)
      append(value.value, to: &out)
    }
  }

  private static func append(_ string: String, to out: inout ByteBuffer) {
    out.append(UInt32(string.utf8.count))
    out.append(utf8: string)
  }

  private static func append(_ value: ColumnValue, to out: inout ByteBuffer) {
    switch value {
    case .null: out.append(0 as UInt8)
    case .bool(let value):
      out.append(1 as UInt8)
      out.append(value ? 1 : 0 as UInt8)
    case .integer(let value):
      out.append(2 as UInt8)
      out.append(value)
    case .unsigned(let value):
      out.append(3 as UInt8)
      out.append(value)
    case .real(let value):
      out.append(4 as UInt8)
      out.append(value.bitPattern)
    case .string(let value):
      out.append(5 as UInt8)
      append(value, to: &out)
    case .bytes(let value):
      out.append(6 as UInt8)
      out.append(UInt32(value.count))
      out.append(value)
    case .timestamp(let value):
      out.append(7 as UInt8)
      out.append(value.microseconds)
    }
  }

  // MARK: Reading

  static func decode(_ bytes: UnsafeRawBufferPointer) throws(ViewError) -> ViewDefinition {
    guard bytes.count > 6 else { throw damaged }
    let content = unsafe bytes.slice(0, bytes.count - 4)
    var reader = unsafe CatalogueReader(content)
    let format: UInt16 = try reader.number()
    guard format <= Self.format else {
      throw ViewError(.newerFormat, "the catalogue has format \(format); update the library")
    }
    guard unsafe bytes.little(UInt32.self, at: content.count) == CRC32C.checksum(content) else { throw damaged }
    let id: UInt32 = try reader.number()
    let version: UInt32 = try reader.number()
    let nextColumn: UInt32 = try reader.number()
    let nextIndex: UInt32 = try reader.number()
    let name = try reader.string()
    var definition = ViewDefinition(
      id: id, name: name, version: version, columns: [], families: [], indexes: [], nextColumn: nextColumn,
      nextIndex: nextIndex)
    for _ in 0..<(try reader.number() as UInt16) {
      let id: UInt16 = try reader.number()
      definition.families.append(FamilyDefinition(id: id, table: TableID(value: try reader.number())))
    }
    for _ in 0..<(try reader.number() as UInt16) { definition.columns.append(try reader.column()) }
    for _ in 0..<(try reader.number() as UInt16) {
      let id: UInt32 = try reader.number()
      let table: UInt32 = try reader.number()
      let name = try reader.string()
      var columns: [UInt32] = []
      for _ in 0..<(try reader.number() as UInt16) { columns.append(try reader.number()) }
      definition.indexes.append(IndexDefinition(id: id, name: name, columns: columns, table: TableID(value: table)))
    }
    guard reader.isAtEnd, !definition.columns.isEmpty, !definition.families.isEmpty else { throw damaged }
    return definition
  }

  static var damaged: ViewError { ViewError(.damaged, "an entry of the view catalogue is damaged; restore a backup") }
}

/// Reads catalogue bytes and refuses to read past their end.
@safe
private struct CatalogueReader {
  // Invariant: lives within one call of `decode`, whose bytes these are.
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

  var isAtEnd: Bool { unsafe offset == bytes.count }

  mutating func number<T: FixedWidthInteger & BitwiseCopyable>() throws(ViewError) -> T {
    guard unsafe bytes.count - offset >= MemoryLayout<T>.size else { throw DefinitionCoding.damaged }
    defer { offset += MemoryLayout<T>.size }
    return unsafe bytes.little(T.self, at: offset)
  }

  mutating func run() throws(ViewError) -> [UInt8] {
    let count = Int(try number() as UInt32)
    guard unsafe bytes.count - offset >= count else { throw DefinitionCoding.damaged }
    defer { offset += count }
    return unsafe [UInt8](bytes.slice(offset, count))
  }

  mutating func string() throws(ViewError) -> String { String(decoding: try run(), as: UTF8.self) }

  mutating func value() throws(ViewError) -> ColumnValue {
    switch try number() as UInt8 {
    case 0: return .null
    case 1: return .bool(try number() as UInt8 != 0)
    case 2: return .integer(try number())
    case 3: return .unsigned(try number())
    case 4: return .real(Double(bitPattern: try number()))
    case 5: return .string(try string())
    case 6: return .bytes(try run())
    case 7: return .timestamp(Timestamp(microseconds: try number()))
    default: throw DefinitionCoding.damaged
    }
  }

  mutating func column() throws(ViewError) -> ColumnDefinition {
    let id: UInt32 = try number()
    guard let type = ColumnType(rawValue: try number()) else { throw DefinitionCoding.damaged }
    let isOptional = try number() as UInt8 != 0
    let family: UInt16 = try number()
    let added: UInt32 = try number()
    let name = try string()
    let initial = try value()
    var defaults: [ColumnDefinition.WriteDefault] = []
    for _ in 0..<(try number() as UInt16) {
      let since: UInt32 = try number()
      defaults.append(.init(since: since, value: try value()))
    }
    return ColumnDefinition(
      id: id, name: name, type: type, isOptional: isOptional, family: family, added: added, initialDefault: initial,
      writeDefaults: defaults)
  }
}
