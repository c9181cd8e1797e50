internal import Bytes

/// Encodes runs of values as the columns of a group: the smallest of the encodings, and where minimum and maximum are.
///
/// The scratch memory is reused from column to column; one thread at a time.
struct ColumnEncoder: ~Copyable {
  private var dictionary = DictionaryBuilder()

  /// Appends the rows `range` of `vector` to `buffer` and writes the directory entry at `entry` in it.
  mutating func encode(
    _ vector: ColumnVector, _ range: Range<Int>, id: UInt32, type: ColumnType, at entry: Int,
    into buffer: inout ByteBuffer
  ) {
    let start = buffer.count
    var nullCount = 0
    if vector.hasNulls { for row in range where unsafe vector.nulls[row] != 0 { nullCount += 1 } }
    var fields = EntryFields(id: id, type: type.rawValue, start: start, nullCount: nullCount)
    if nullCount == range.count {
      fields.encoding = .allNull
      fields.write(at: entry, length: 0, into: &buffer)
      return
    }
    if nullCount > 0 { Self.appendNulls(vector, range, to: &buffer) }
    switch type.storage {
    case .integer: Self.encodeIntegers(vector, range, nullCount, &fields, into: &buffer)
    case .real: Self.encodeReals(vector, range, nullCount, isFloat: type == .float, &fields, into: &buffer)
    case .bytes: encodeBytes(vector, range, nullCount, &fields, into: &buffer)
    }
    fields.write(at: entry, length: buffer.count - start, into: &buffer)
  }

  private static func appendNulls(_ vector: ColumnVector, _ range: Range<Int>, to buffer: inout ByteBuffer) {
    let bits = unsafe buffer.appendUninitialized((range.count + 7) / 8)
    for index in 0..<bits.count { unsafe bits[index] = 0 }
    for row in range where unsafe vector.nulls[row] != 0 {
      let index = row - range.lowerBound
      unsafe bits[index >> 3] |= 1 << UInt8(index & 7)
    }
  }

  // MARK: Numbers

  private static func encodeIntegers(
    _ vector: ColumnVector, _ range: Range<Int>, _ nullCount: Int, _ fields: inout EntryFields,
    into buffer: inout ByteBuffer
  ) {
    var low = Int64.max
    var high = Int64.min
    for row in range where unsafe nullCount == 0 || vector.nulls[row] == 0 {
      let value = unsafe Int64(bitPattern: vector.words[row])
      low = min(low, value)
      high = max(high, value)
    }
    noteExtremes(vector, range, nullCount, low: low, high: high, &fields) { Int64(bitPattern: $0) }
    let span = UInt64(bitPattern: high &- low)
    let width = span == 0 ? 0 : span <= 0xFF ? 1 : span <= 0xFFFF ? 2 : span <= 0xFFFF_FFFF ? 4 : 8
    let base = UInt64(bitPattern: low)
    fields.encoding = .frameOfReference
    fields.width = width
    buffer.append(base)
    fields.values = buffer.count - fields.start
    let target = unsafe buffer.appendUninitialized(range.count * width)
    guard width > 0, let target = target.baseAddress else { return }
    for row in range {
      let index = row - range.lowerBound
      let isNull = unsafe nullCount > 0 && vector.nulls[row] != 0
      let delta = unsafe isNull ? 0 : vector.words[row] &- base
      switch width {
      case 1: unsafe target.storeBytes(of: UInt8(truncatingIfNeeded: delta), toByteOffset: index, as: UInt8.self)
      case 2: unsafe target.storeBytes(of: UInt16(truncatingIfNeeded: delta), toByteOffset: index * 2, as: UInt16.self)
      case 4: unsafe target.storeBytes(of: UInt32(truncatingIfNeeded: delta), toByteOffset: index * 4, as: UInt32.self)
      default: unsafe target.storeBytes(of: delta, toByteOffset: index * 8, as: UInt64.self)
      }
    }
  }

  private static func encodeReals(
    _ vector: ColumnVector, _ range: Range<Int>, _ nullCount: Int, isFloat: Bool, _ fields: inout EntryFields,
    into buffer: inout ByteBuffer
  ) {
    var low = Int64.max
    var high = Int64.min
    var first: UInt64?
    var isConstant = nullCount == 0
    for row in range where unsafe nullCount == 0 || vector.nulls[row] == 0 {
      let bits = unsafe vector.words[row]
      if first == nil { first = bits }
      if bits != first { isConstant = false }
      let order = CellOrder.ordered(Double(bitPattern: bits))
      low = min(low, order)
      high = max(high, order)
    }
    noteExtremes(vector, range, nullCount, low: low, high: high, &fields) { CellOrder.ordered(Double(bitPattern: $0)) }
    if isConstant, let first {
      fields.encoding = .realConstant
      buffer.append(first)
      fields.values = buffer.count - fields.start
      return
    }
    fields.values = buffer.count - fields.start
    fields.encoding = isFloat ? .real32 : .real64
    fields.width = isFloat ? 4 : 8
    for row in range {
      let bits = unsafe nullCount > 0 && vector.nulls[row] != 0 ? 0 : vector.words[row]
      if isFloat { buffer.append(Float(Double(bitPattern: bits)).bitPattern) } else { buffer.append(bits) }
    }
  }

  private static func noteExtremes(
    _ vector: ColumnVector, _ range: Range<Int>, _ nullCount: Int, low: Int64, high: Int64,
    _ fields: inout EntryFields, _ order: (UInt64) -> Int64
  ) {
    var needLow = true
    var needHigh = true
    for row in range where unsafe nullCount == 0 || vector.nulls[row] == 0 {
      let value = unsafe order(vector.words[row])
      if needLow, value == low {
        fields.minRow = row - range.lowerBound
        needLow = false
      }
      if needHigh, value == high {
        fields.maxRow = row - range.lowerBound
        needHigh = false
      }
      if !needLow, !needHigh { return }
    }
  }

  // MARK: Bytes

  private mutating func encodeBytes(
    _ vector: ColumnVector, _ range: Range<Int>, _ nullCount: Int, _ fields: inout EntryFields,
    into buffer: inout ByteBuffer
  ) {
    var total = 0
    var low = -1
    var high = -1
    for row in range where unsafe nullCount == 0 || vector.nulls[row] == 0 {
      let bytes = unsafe vector.cell(row).bytes
      total += bytes.count
      if unsafe low < 0 || bytes.compare(vector.cell(low).bytes) < 0 { low = row }
      if unsafe high < 0 || bytes.compare(vector.cell(high).bytes) > 0 { high = row }
    }
    fields.minRow = low - range.lowerBound
    fields.maxRow = high - range.lowerBound
    fields.values = buffer.count - fields.start
    let width = total <= 0xFFFF ? 2 : 4
    let plainSize = range.count * width + total
    if dictionary.build(vector, range, nullCount, below: plainSize) {
      fields.encoding = .dictionaryBytes
      dictionary.append(to: &buffer, &fields)
      return
    }
    fields.encoding = .plainBytes
    fields.width = width
    var end = 0
    for row in range {
      if unsafe nullCount == 0 || vector.nulls[row] == 0 { unsafe end += Int(vector.counts[row]) }
      if width == 2 { buffer.append(UInt16(truncatingIfNeeded: end)) } else { buffer.append(UInt32(end)) }
    }
    fields.heap = buffer.count - fields.start
    for row in range where unsafe nullCount == 0 || vector.nulls[row] == 0 {
      unsafe buffer.append(vector.cell(row).bytes)
    }
  }
}

/// The fields of a directory entry while its column is written.
struct EntryFields {
  var id: UInt32
  var type: UInt8
  var encoding = GroupLayout.Encoding.allNull
  var width = 0
  var heapWidth = 0
  var start: Int
  var values = 0
  var heap = 0
  var nullCount: Int
  var minRow = 0
  var maxRow = 0
  var dictionaryCount = 0

  init(id: UInt32, type: UInt8, start: Int, nullCount: Int) {
    self.id = id
    self.type = type
    self.start = start
    self.nullCount = nullCount
  }

  func write(at offset: Int, length: Int, into buffer: inout ByteBuffer) {
    let bytes = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer.mutableBytes[offset..<offset + GroupLayout.entrySize])
    unsafe bytes.storeBytes(of: id.littleEndian, toByteOffset: 0, as: UInt32.self)
    unsafe bytes[4] = type
    unsafe bytes[5] = encoding.rawValue
    unsafe bytes[6] = UInt8(width)
    unsafe bytes[7] = UInt8(heapWidth)
    unsafe bytes.storeBytes(of: UInt32(start).littleEndian, toByteOffset: 8, as: UInt32.self)
    unsafe bytes.storeBytes(of: UInt32(length).littleEndian, toByteOffset: 12, as: UInt32.self)
    unsafe bytes.storeBytes(of: UInt32(values).littleEndian, toByteOffset: 16, as: UInt32.self)
    unsafe bytes.storeBytes(of: UInt32(heap).littleEndian, toByteOffset: 20, as: UInt32.self)
    unsafe bytes.storeBytes(of: UInt16(nullCount).littleEndian, toByteOffset: 24, as: UInt16.self)
    unsafe bytes.storeBytes(of: UInt16(minRow).littleEndian, toByteOffset: 26, as: UInt16.self)
    unsafe bytes.storeBytes(of: UInt16(maxRow).littleEndian, toByteOffset: 28, as: UInt16.self)
    unsafe bytes.storeBytes(of: UInt16(dictionaryCount).littleEndian, toByteOffset: 30, as: UInt16.self)
  }
}
