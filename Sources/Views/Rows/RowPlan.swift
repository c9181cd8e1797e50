package import Bytes
package import Records

/// How a struct's memory and a view's columns map: made once per struct and view schema, run per row by code that
/// knows no type.
@safe
package final class RowPlan: Sendable {
  /// One property and its column.
  struct Step: Sendable {
    /// Index of the field in the layout: the field itself would cost reference counting per value.
    let field: Int
    let fieldType: FieldType
    /// Position of the column in the schema; 0 is the primary key.
    let column: Int
    let id: UInt32
    let type: ColumnType
    let isBytes: Bool
    /// Set if the property's memory is the number itself.
    let isPlainNumber: Bool
    let offset: Int
  }

  package let schema: ViewSchema
  package let layout: RecordLayout
  // Invariant: as many initialised fields as the layout has, for the plan's life. Through an address, so that using a
  // field does not copy it.
  private nonisolated(unsafe) let fields: UnsafeMutablePointer<RecordLayout.Field>
  /// The steps of all columns but the key, by ascending column id.
  let steps: [Step]
  let key: Step
  /// The mask of the columns that the struct sets.
  private let mask: [UInt8]

  /// - Throws: `unknownColumn` or `schemaMismatch` naming the property that has no fitting column in `schema`.
  ///
  /// - Parameter columnNames: the columns of properties, by index of the field, where they do not have its name.
  package init(
    layout: RecordLayout, schema: ViewSchema, columnNames: [Int: String] = [:]
  ) throws(ViewError) {
    var steps: [Step] = []
    var key: Step?
    for (index, field) in layout.fields.enumerated() {
      let position = try schema.position(named: columnNames[index] ?? field.name)
      let column = schema.columns[position]
      guard let type = ColumnType(field.type), column.type == type,
        field.isOptional == column.definition.isOptional
      else {
        throw ViewError(
          .schemaMismatch, view: schema.name, column: field.name,
          "the property is \(field.type)\(field.isOptional ? "?" : ""), the column \(column.type)"
            + (column.definition.isOptional ? "?" : ""))
      }
      let step = Step(
        field: index, fieldType: field.type, column: position, id: column.id, type: type,
        isBytes: type.storage == .bytes, isPlainNumber: field.isPlain && type.storage != .bytes && type != .bool,
        offset: field.offset)
      if position == 0 { key = step } else { steps.append(step) }
    }
    guard let key else {
      throw ViewError(
        .schemaMismatch, view: schema.name, column: schema.definition.key.name,
        "\(layout.typeName) has no property for the primary key")
    }
    self.layout = layout
    self.schema = schema
    unsafe fields = .allocate(capacity: layout.fields.count)
    for (index, field) in layout.fields.enumerated() { unsafe (fields + index).initialize(to: field) }
    self.key = key
    self.steps = steps.sorted { $0.id < $1.id }
    mask = Self.mask(self.steps)
  }

  deinit {
    unsafe fields.deinitialize(count: layout.fields.count)
    unsafe fields.deallocate()
  }

  /// The mask of the columns of `steps`.
  static func mask(_ steps: [Step]) -> [UInt8] {
    var mask = [UInt8](repeating: 0, count: (steps.map { Int($0.id >> 3) + 1 }.max() ?? 0))
    for step in steps { mask[Int(step.id >> 3)] |= 1 << UInt8(step.id & 7) }
    return mask
  }

  /// The canonical bytes of a primary key given by value.
  ///
  /// - Throws: `invalidQuery` if the value is none of the key's type.
  package func keyBytes(_ value: ColumnValue) throws(ViewError) -> [UInt8] {
    guard let converted = value.converted(to: key.type), !converted.isNull else {
      throw ViewError(
        .invalidQuery, view: schema.name, column: schema.definition.key.name, "\(value) is no \(key.type)")
    }
    var buffer = ByteBuffer(capacity: 32)
    let owned = OwnedCell(converted)
    withExtendedLifetime(owned) { KeyCoding.append(owned.cell, key.type, to: &buffer) }
    return buffer.array
  }

  /// The step of the property that a key path names.
  func step(field index: Int) -> Step {
    steps.first { $0.field == index } ?? key
  }

  /// Whether a change of these columns may alter an index.
  func setsAny(of ids: Set<UInt32>) -> Bool { steps.contains { ids.contains($0.id) } }

  // MARK: From memory

  /// Appends the canonical bytes of the row's primary key.
  package func appendKey(of row: UnsafeRawPointer, to buffer: inout ByteBuffer) {
    if key.isBytes {
      _ = unsafe fields[key.field].withBytes(in: row) { unsafe buffer.append($0) }
    } else {
      unsafe KeyCoding.append(number(key, row), key.type, to: &buffer)
    }
  }

  /// Appends the change that sets every column of the struct but the key.
  package func appendChange(of row: UnsafeRawPointer, to buffer: inout ByteBuffer) {
    unsafe appendChange(of: row, steps: steps, mask: mask, to: &buffer)
  }

  /// Appends the change that sets the columns of `steps`, which are in the order of their ids and have this mask.
  func appendChange(of row: UnsafeRawPointer, steps: [Step], mask: [UInt8], to buffer: inout ByteBuffer) {
    buffer.append(RowChange.Kind.upsert.rawValue)
    buffer.append(UInt8(mask.count))
    buffer.append(schema.definition.version)
    buffer.append(mask)
    let nulls = buffer.count
    for _ in mask { buffer.append(0 as UInt8) }
    var slot = buffer.count
    let heap = slot + 8 * steps.count
    _ = unsafe buffer.appendUninitialized(8 * steps.count)
    for step in steps {
      var word: UInt64 = 0
      var isNull = false
      if step.isPlainNumber {
        word = unsafe Self.plain(step, row)
      } else if step.isBytes {
        let offset = buffer.count - heap
        let count = unsafe fields[step.field].withBytes(in: row) { bytes in
          unsafe buffer.append(bytes)
          return bytes.count
        }
        isNull = count == nil
        word = UInt64(UInt32(truncatingIfNeeded: offset)) | UInt64(UInt32(truncatingIfNeeded: count ?? 0)) << 32
      } else {
        let cell = unsafe number(step, row)
        isNull = cell.isNull
        word = cell.word
      }
      if isNull {
        word = 0
        unsafe buffer.mutableBytes[nulls + Int(step.id >> 3)] |= 1 << UInt8(step.id & 7)
      }
      unsafe buffer.mutableBytes.storeBytes(of: word.littleEndian, toByteOffset: slot, as: UInt64.self)
      slot += 8
    }
  }

  /// A number that lies in memory as it is, as the word of a cell.
  private static func plain(_ step: Step, _ row: UnsafeRawPointer) -> UInt64 {
    let memory = unsafe row + step.offset
    switch step.type {
    case .int64, .timestamp, .double: return unsafe memory.loadUnaligned(as: UInt64.self)
    case .int32: return unsafe UInt64(bitPattern: Int64(memory.loadUnaligned(as: Int32.self)))
    case .int16: return unsafe UInt64(bitPattern: Int64(memory.loadUnaligned(as: Int16.self)))
    case .int8: return unsafe UInt64(bitPattern: Int64(memory.load(as: Int8.self)))
    case .uint64: return unsafe memory.loadUnaligned(as: UInt64.self) ^ (1 << 63)
    case .uint32: return unsafe UInt64(memory.loadUnaligned(as: UInt32.self))
    case .uint16: return unsafe UInt64(memory.loadUnaligned(as: UInt16.self))
    case .float: return unsafe Double(memory.loadUnaligned(as: Float.self)).bitPattern
    default: return unsafe UInt64(memory.load(as: UInt8.self))
    }
  }

  private func number(_ step: Step, _ row: UnsafeRawPointer) -> Cell {
    if step.isPlainNumber { return unsafe Cell(word: Self.plain(step, row), count: 0, isNull: false) }
    guard let bits = unsafe fields[step.field].bits(in: row) else { return .null }
    switch step.type {
    case .uint64: return Cell(word: bits ^ (1 << 63), count: 0, isNull: false)
    case .float: return Cell(real: Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
    case .double: return Cell(word: bits, count: 0, isNull: false)
    default: return Cell(integer: step.fieldType.integer(fromBits: bits))
    }
  }

  // MARK: Into memory

  /// Initialises one property from a cell.
  ///
  /// - Throws: `schemaMismatch` if the property's type has no such value (an enum without the case, a nil in a
  ///   property that is not optional): nothing is initialised then.
  @inline(__always)
  func store(_ cell: Cell, _ step: Step, in row: UnsafeMutableRawPointer) throws(ViewError) {
    if step.isPlainNumber, !cell.isNull {
      let memory = unsafe row + step.offset
      switch step.type {
      case .int64, .timestamp, .double: unsafe memory.storeBytes(of: cell.word, as: UInt64.self)
      case .int32, .uint32: unsafe memory.storeBytes(of: UInt32(truncatingIfNeeded: cell.word), as: UInt32.self)
      case .int16, .uint16: unsafe memory.storeBytes(of: UInt16(truncatingIfNeeded: cell.word), as: UInt16.self)
      case .uint64: unsafe memory.storeBytes(of: cell.word ^ (1 << 63), as: UInt64.self)
      case .float: unsafe memory.storeBytes(of: Float(cell.real).bitPattern, as: UInt32.self)
      default: unsafe memory.storeBytes(of: UInt8(truncatingIfNeeded: cell.word), as: UInt8.self)
      }
      return
    }
    unsafe try storeGeneral(cell, step, in: row)
  }

  private func storeGeneral(_ cell: Cell, _ step: Step, in row: UnsafeMutableRawPointer) throws(ViewError) {
    let done: Bool
    if cell.isNull {
      done = unsafe fields[step.field].initializeNull(in: row)
    } else {
      switch step.type {
      case .float:
        done = unsafe fields[step.field].initialize(bits: UInt64(Float(cell.real).bitPattern), in: row)
      case .uint64: done = unsafe fields[step.field].initialize(bits: cell.word ^ (1 << 63), in: row)
      case .string, .bytes, .uuid, .opaque:
        done = unsafe fields[step.field].initialize(bytes: cell.bytes, in: row)
      default: done = unsafe fields[step.field].initialize(bits: cell.word, in: row)
      }
    }
    if done { return }
    let value = ColumnValue(cell, step.type)
    throw ViewError(
      .schemaMismatch, view: schema.name, column: layout.fields[step.field].name,
      "\(layout.typeName).\(layout.fields[step.field].name) has no value for the stored \(value)")
  }

  /// Initialises a whole struct at `row` from the key and a cell per step.
  ///
  /// - Throws: as `store`; then nothing stays initialised.
  @inline(__always)
  func load(
    key keyCell: Cell, into row: UnsafeMutableRawPointer, _ cell: (Step, Int) throws(ViewError) -> Cell
  ) throws(ViewError) {
    unsafe try store(keyCell, key, in: row)
    var done = 0
    do {
      for index in steps.indices {
        unsafe try store(cell(steps[index], index), steps[index], in: row)
        done = index + 1
      }
    } catch {
      unsafe fields[key.field].deinitialize(in: row)
      for index in 0..<done { unsafe fields[steps[index].field].deinitialize(in: row) }
      throw error
    }
  }
}
