internal import Bytes

/// One row's change in a run, in place: the columns it sets. A delete is a tombstone without bytes.
///
/// | offset | bytes | content |
/// |---|---|---|
/// | 0 | 1 | 2 upsert (other columns stay), 3 replace (other columns get their defaults) |
/// | 1 | 1 | m, bytes of each mask |
/// | 2 | 4 | schema version of the writer: which defaults a row made by this change gets |
/// | 6 | m | the columns set: bit (id mod 8) of byte (id div 8) |
/// | 6 + m | m | which of them are null |
/// | 6 + 2m | 8 × set | a slot per column set, by ascending id: a number, or offset and length (4 + 4) in the heap |
/// | then | | the heap: byte values |
@safe
struct RowChange: BitwiseCopyable {
  enum Kind: UInt8 {
    case delete = 1
    case upsert = 2
    case replace = 3
  }

  static let headerSize = 6
  /// Ids from here on do not fit the masks: a view's columns, dropped ones included, end below.
  static let maxColumnID: UInt32 = 2_000

  let bytes: UnsafeRawBufferPointer
  let kind: Kind
  let maskBytes: Int
  let version: UInt32
  private let slots: Int
  private let heap: Int

  /// The change in `bytes`, refused if its parts do not fit; values are checked when they are read.
  init(_ bytes: UnsafeRawBufferPointer) throws(ViewError) {
    guard bytes.count >= Self.headerSize, let kind = unsafe Kind(rawValue: bytes[0]) else { throw Self.damaged }
    unsafe self.bytes = bytes
    self.kind = kind
    maskBytes = unsafe Int(bytes[1])
    version = unsafe bytes.little(UInt32.self, at: 2)
    slots = Self.headerSize + 2 * maskBytes
    guard slots <= bytes.count else { throw Self.damaged }
    var count = 0
    for index in 0..<maskBytes { unsafe count += bytes[Self.headerSize + index].nonzeroBitCount }
    heap = slots + 8 * count
    guard heap <= bytes.count else { throw Self.damaged }
  }

  /// A delete.
  static var delete: RowChange { RowChange() }

  private init() {
    unsafe bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    kind = .delete
    maskBytes = 0
    version = 0
    slots = 0
    heap = 0
  }

  static var damaged: ViewError { ViewError(.damaged, "a row change contradicts itself") }

  /// Whether column `id` is set.
  func sets(_ id: UInt32) -> Bool {
    let byte = Int(id >> 3)
    return unsafe byte < maskBytes && bytes[Self.headerSize + byte] & (1 << UInt8(id & 7)) != 0
  }

  /// The value that the change sets column `id` to, or nil if it does not set it.
  func cell(_ id: UInt32, _ storage: ColumnType.Storage) throws(ViewError) -> Cell? {
    let byte = Int(id >> 3)
    guard byte < maskBytes else { return nil }
    let bit: UInt8 = 1 << UInt8(id & 7)
    let mask = unsafe bytes[Self.headerSize + byte]
    guard mask & bit != 0 else { return nil }
    if unsafe bytes[Self.headerSize + maskBytes + byte] & bit != 0 { return .null }
    var position = (mask & (bit &- 1)).nonzeroBitCount
    for index in 0..<byte { unsafe position += bytes[Self.headerSize + index].nonzeroBitCount }
    return try slot(position, storage)
  }

  private func slot(_ position: Int, _ storage: ColumnType.Storage) throws(ViewError) -> Cell {
    let word = unsafe bytes.little(UInt64.self, at: slots + 8 * position)
    guard storage == .bytes else { return Cell(word: word, count: 0, isNull: false) }
    let offset = Int(word & 0xFFFF_FFFF)
    let count = Int(word >> 32)
    guard unsafe heap + offset + count <= bytes.count else { throw Self.damaged }
    return unsafe Cell(bytes: bytes.slice(heap + offset, count))
  }

  /// The number of columns set.
  var count: Int { (heap - slots) / 8 }

  // MARK: Combining

  /// Appends the one change that is `older` and then `newer`, which is no delete. Which slots are byte values is told
  /// by `isBytes`.
  static func combine(
    older: RowChange, newer: RowChange, isBytes: (UInt32) -> Bool, into buffer: inout ByteBuffer
  ) throws(ViewError) {
    if newer.kind != .upsert {
      unsafe buffer.append(newer.bytes)
      return
    }
    if older.kind == .delete {
      // What follows a delete starts from the defaults.
      let start = buffer.count
      unsafe buffer.append(newer.bytes)
      unsafe buffer.mutableBytes[start] = Kind.replace.rawValue
      return
    }
    let maskBytes = max(older.maskBytes, newer.maskBytes)
    var writer = RowChangeWriter(
      kind: older.kind, version: older.version, maskBytes: maskBytes, into: &buffer)
    for byte in 0..<maskBytes {
      let new = unsafe byte < newer.maskBytes ? newer.bytes[headerSize + byte] : 0
      let old = unsafe byte < older.maskBytes ? older.bytes[headerSize + byte] : 0
      writer.setMask(byte, new | old, into: &buffer)
    }
    writer.reserveSlots(into: &buffer)
    for byte in 0..<maskBytes {
      for bit in 0..<8 {
        let id = UInt32(byte * 8 + bit)
        let storage: ColumnType.Storage = isBytes(id) ? .bytes : .integer
        if let cell = try newer.cell(id, storage) {
          writer.append(cell, id, isBytes: storage == .bytes, into: &buffer)
        } else if let cell = try older.cell(id, storage) {
          writer.append(cell, id, isBytes: storage == .bytes, into: &buffer)
        }
      }
    }
  }
}

/// Writes one row change at the end of a buffer: masks first, then the slots in ascending order of ids.
struct RowChangeWriter {
  private let start: Int
  private let maskBytes: Int
  private var slots = 0
  private var heap = 0
  private var next = 0

  init(kind: RowChange.Kind, version: UInt32, maskBytes: Int, into buffer: inout ByteBuffer) {
    start = buffer.count
    self.maskBytes = maskBytes
    buffer.append(kind.rawValue)
    buffer.append(UInt8(maskBytes))
    buffer.append(version)
    let masks = unsafe buffer.appendUninitialized(2 * maskBytes)
    for index in 0..<masks.count { unsafe masks[index] = 0 }
  }

  mutating func setMask(_ byte: Int, _ value: UInt8, into buffer: inout ByteBuffer) {
    unsafe buffer.mutableBytes[start + RowChange.headerSize + byte] = value
  }

  /// Makes room for the slots of all columns in the mask; the mask is complete.
  mutating func reserveSlots(into buffer: inout ByteBuffer) {
    slots = buffer.count
    var count = 0
    for index in 0..<maskBytes { unsafe count += buffer.bytes[start + RowChange.headerSize + index].nonzeroBitCount }
    _ = unsafe buffer.appendUninitialized(8 * count)
    heap = buffer.count
    next = slots
  }

  /// Fills the next slot.
  mutating func append(_ cell: Cell, _ id: UInt32, isBytes: Bool, into buffer: inout ByteBuffer) {
    var word = cell.isNull ? 0 : cell.word
    if cell.isNull {
      unsafe buffer.mutableBytes[start + RowChange.headerSize + maskBytes + Int(id >> 3)] |= 1 << UInt8(id & 7)
    } else if isBytes {
      word = UInt64(UInt32(truncatingIfNeeded: buffer.count - heap)) | UInt64(UInt32(bitPattern: cell.count)) << 32
      unsafe buffer.append(cell.bytes)
    }
    unsafe buffer.mutableBytes.storeBytes(of: word.littleEndian, toByteOffset: next, as: UInt64.self)
    next += 8
  }
}
