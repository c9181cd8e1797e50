public import Bytes

/// A value of a column without its Swift type: for tools, defaults and literals.
public enum ColumnValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// Signed integers of every width, and unsigned ones up to 32 bits.
  case integer(Int64)
  /// An unsigned 64-bit integer.
  case unsigned(UInt64)
  case real(Double)
  case string(String)
  /// Bytes, a UUID (16 of them) or an opaque value.
  case bytes([UInt8])
  case timestamp(Timestamp)
}

extension ColumnValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(nilLiteral: ()) { self = .null }
}

extension ColumnValue: CustomStringConvertible {
  public var description: String {
    switch self {
    case .null: "nil"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .unsigned(let value): "\(value)"
    case .real(let value): "\(value)"
    case .string(let value): value
    case .bytes(let value): value.map { $0 < 16 ? "0\(String($0, radix: 16))" : String($0, radix: 16) }.joined()
    case .timestamp(let value): "\(value.microseconds)"
    }
  }

  public var isNull: Bool { self == .null }
}

extension ColumnValue {
  /// The value as one of `type`, converted where nothing is lost; nil where it does not fit.
  package func converted(to type: ColumnType) -> ColumnValue? {
    if case .null = self { return .null }
    switch type {
    case .bool:
      if case .bool = self { return self }
      return nil
    case .int8: return integer(in: Int64(Int8.min)...Int64(Int8.max))
    case .int16: return integer(in: Int64(Int16.min)...Int64(Int16.max))
    case .int32: return integer(in: Int64(Int32.min)...Int64(Int32.max))
    case .int64: return integer(in: Int64.min...Int64.max)
    case .uint8: return integer(in: 0...Int64(UInt8.max))
    case .uint16: return integer(in: 0...Int64(UInt16.max))
    case .uint32: return integer(in: 0...Int64(UInt32.max))
    case .uint64:
      if case .unsigned = self { return self }
      if case .integer(let value) = self, value >= 0 { return .unsigned(UInt64(value)) }
      return nil
    case .float, .double:
      switch self {
      case .real(let value): return type == .double ? self : .real(Double(Float(value)))
      case .integer(let value): return Double(exactly: value).map { .real($0) }
      default: return nil
      }
    case .string:
      if case .string = self { return self }
      return nil
    case .bytes, .opaque:
      if case .bytes = self { return self }
      return nil
    case .uuid:
      if case .bytes(let value) = self, value.count == 16 { return self }
      return nil
    case .timestamp:
      if case .timestamp = self { return self }
      if case .integer(let value) = self { return .timestamp(Timestamp(microseconds: value)) }
      return nil
    }
  }

  private func integer(in range: ClosedRange<Int64>) -> ColumnValue? {
    switch self {
    case .integer(let value): return range.contains(value) ? self : nil
    case .unsigned(let value):
      guard let signed = Int64(exactly: value), range.contains(signed) else { return nil }
      return .integer(signed)
    default: return nil
    }
  }

  /// The value in a cell of `type` as an untyped value.
  package init(_ cell: Cell, _ type: ColumnType) {
    if cell.isNull {
      self = .null
      return
    }
    switch type {
    case .bool: self = .bool(cell.integer != 0)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: self = .integer(cell.integer)
    case .uint64: self = .unsigned(UInt64(bitPattern: cell.integer) ^ (1 << 63))
    case .timestamp: self = .timestamp(Timestamp(microseconds: cell.integer))
    case .float, .double: self = .real(cell.real)
    case .string: self = .string(unsafe String(decoding: cell.bytes, as: UTF8.self))
    case .bytes, .uuid, .opaque: self = .bytes(unsafe [UInt8](cell.bytes))
    }
  }
}

/// A value whose cell stays valid as long as the object lives: defaults and literals.
@safe
package final class OwnedCell: Sendable {
  package let cell: Cell
  // Invariant: written only in init, freed in deinit; the cell of a byte value points here.
  private nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

  /// The cell of `value`, which has been converted to its column's type.
  package init(_ value: ColumnValue) {
    var bytes: [UInt8] = []
    var plain: Cell?
    switch value {
    case .null: plain = .null
    case .bool(let value): plain = Cell(integer: value ? 1 : 0)
    case .integer(let value): plain = Cell(integer: value)
    case .unsigned(let value): plain = Cell(integer: Int64(bitPattern: value ^ (1 << 63)))
    case .real(let value): plain = Cell(real: value)
    case .timestamp(let value): plain = Cell(integer: value.microseconds)
    case .string(let value): bytes = Array(value.utf8)
    case .bytes(let value): bytes = value
    }
    unsafe memory = .allocate(byteCount: max(bytes.count, 1), alignment: 8)
    unsafe memory.copyBytes(from: bytes)
    cell = unsafe plain ?? Cell(bytes: UnsafeRawBufferPointer(rebasing: memory[..<bytes.count]))
  }

  deinit { unsafe memory.deallocate() }
}
