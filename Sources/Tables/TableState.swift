import Bytes

/// What the database "tables" keeps for one table: its live runs and how far merging has come.
///
/// | bytes | field |
/// |---|---|
/// | 4 | CRC-32C of the rest |
/// | 1 | version, 1 |
/// | 1 | block format |
/// | 1 | flags: 1 dropped, 2 a sweep is under way |
/// | numbers (LEB128) | next run id; base bytes, blocks, entries; last transaction that swept |
/// | numbers | run count; for each, oldest first: id, chunks, bytes, entries, transaction that appended it |
/// | numbers, bytes | of a sweep: frozen runs (the oldest ones), lane, length of the position, position |
///
/// Kept below 2,038 bytes, so that it may be put more than once in a transaction.
struct TableState {
  struct RunRecord: Hashable {
    var id: UInt64
    var chunks: UInt32
    var bytes: Int
    var entries: Int
    var transaction: Int
  }

  struct Sweep: Hashable {
    /// The runs being merged: the oldest `frozen` ones.
    var frozen: Int
    var lane: Int
    /// Changes with keys below it are in the base.
    var position: [UInt8]
  }

  var format: UInt8
  var isDropped = false
  var nextRun: UInt64 = 1
  var baseBytes = 0
  var baseBlocks = 0
  var baseEntries = 0
  var lastSweep = 0
  /// Oldest first: the order of the list is the order of age, ids are not.
  var runs: [RunRecord] = []
  var sweep: Sweep?

  static let version: UInt8 = 1
  /// Runs beyond it are combined before anything is added.
  static let maximumRuns = 48

  init(format: UInt8) { self.format = format }

  var runBytes: Int { runs.reduce(0) { $0 + $1.bytes } }
  var runEntries: Int { runs.reduce(0) { $0 + $1.entries } }

  func encode(into buffer: inout ByteBuffer) {
    let start = buffer.count
    buffer.append(UInt32(0))
    buffer.append(Self.version)
    buffer.append(format)
    buffer.append(UInt8((isDropped ? 1 : 0) | (sweep == nil ? 0 : 2)))
    for number in [nextRun, UInt64(baseBytes), UInt64(baseBlocks), UInt64(baseEntries), UInt64(lastSweep)] {
      buffer.append(varint: number)
    }
    buffer.append(varint: UInt64(runs.count))
    for run in runs {
      buffer.append(varint: run.id)
      buffer.append(varint: UInt64(run.chunks))
      buffer.append(varint: UInt64(run.bytes))
      buffer.append(varint: UInt64(run.entries))
      buffer.append(varint: UInt64(run.transaction))
    }
    if let sweep {
      buffer.append(varint: UInt64(sweep.frozen))
      buffer.append(varint: UInt64(sweep.lane))
      buffer.append(varint: UInt64(sweep.position.count))
      buffer.append(sweep.position)
    }
    let checksum = unsafe CRC32C.checksum(buffer.bytes.slice(start + 4, buffer.count - start - 4))
    unsafe buffer.mutableBytes.storeBytes(of: checksum.littleEndian, toByteOffset: start, as: UInt32.self)
  }

  init(_ bytes: UnsafeRawBufferPointer, _ table: TableID) throws(TableError) {
    guard bytes.count > 7, unsafe CRC32C.checksum(bytes.slice(4, bytes.count - 4)) == bytes.little(UInt32.self, at: 0)
    else { throw .damaged(table, "its list of runs", "the checksum is wrong") }
    guard unsafe bytes[4] == Self.version else {
      throw unsafe TableError(
        .newerFormat, table: table, detail: "written in version \(bytes[4]); use the library that wrote it")
    }
    format = unsafe bytes[5]
    isDropped = unsafe bytes[6] & 1 != 0
    var reader = unsafe VarintReader(bytes, from: 7)
    nextRun = reader.next()
    baseBytes = reader.nextInt()
    baseBlocks = reader.nextInt()
    baseEntries = reader.nextInt()
    lastSweep = reader.nextInt()
    for _ in 0..<min(reader.nextInt(), bytes.count) {
      runs.append(
        RunRecord(
          id: reader.next(), chunks: UInt32(truncatingIfNeeded: reader.next()), bytes: reader.nextInt(),
          entries: reader.nextInt(), transaction: reader.nextInt()))
    }
    if unsafe bytes[6] & 2 != 0 {
      sweep = Sweep(frozen: reader.nextInt(), lane: reader.nextInt(), position: reader.nextBytes())
    }
    let frozen = sweep?.frozen ?? 0
    guard reader.isIntact, frozen <= runs.count else {
      throw .damaged(table, "its list of runs", "the structure is wrong")
    }
  }
}

extension ByteBuffer {
  /// Appends `value` in LEB128: seven bits per byte, the lowest first.
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }
}

/// Reads LEB128 numbers; remembers a read beyond the end instead of throwing at each.
@safe
struct VarintReader {
  private let bytes: UnsafeRawBufferPointer
  private var position: Int
  private(set) var isIntact = true

  init(_ bytes: UnsafeRawBufferPointer, from position: Int) {
    unsafe self.bytes = unsafe bytes
    self.position = position
  }

  mutating func next() -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while unsafe position < bytes.count && shift < 64 {
      let byte = unsafe bytes[position]
      position += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    isIntact = false
    return 0
  }

  mutating func nextInt() -> Int {
    guard let value = Int(exactly: next()) else {
      isIntact = false
      return 0
    }
    return value
  }

  mutating func nextBytes() -> [UInt8] {
    let count = nextInt()
    guard unsafe count <= bytes.count - position else {
      isIntact = false
      return []
    }
    position += count
    return unsafe [UInt8](bytes.slice(position - count, count))
  }
}
