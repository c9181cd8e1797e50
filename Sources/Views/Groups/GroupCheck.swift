internal import Bytes

/// Checks a group's bytes before anything trusts them: the checksum, then that every offset, code and end lies inside.
enum GroupCheck {
  /// The group in `bytes`, or an error that says which part of it is wrong. Costs about 20 µs for 64 KB.
  static func check(_ bytes: UnsafeRawBufferPointer) throws(ViewError) -> GroupView {
    guard bytes.count >= GroupLayout.headerSize + GroupLayout.padding else {
      throw damaged("a group of \(bytes.count) bytes is too short")
    }
    guard unsafe bytes.little(UInt32.self, at: 0) == GroupLayout.magic else { throw damaged("not a group") }
    let version = unsafe bytes.little(UInt16.self, at: 12)
    guard version == GroupLayout.version else {
      throw ViewError(.newerFormat, "a group has format version \(version); update the library")
    }
    let size = unsafe Int(bytes.little(UInt32.self, at: 8))
    guard size == bytes.count else { throw damaged("a group says \(size) bytes and has \(bytes.count)") }
    guard unsafe bytes.little(UInt32.self, at: 4) == CRC32C.checksum(bytes.slice(8, size - 8)) else {
      throw damaged("the checksum of a group does not match")
    }
    let rows = unsafe Int(bytes.little(UInt16.self, at: 16))
    let columns = unsafe Int(bytes.little(UInt16.self, at: 18))
    guard rows >= 1, rows <= GroupLayout.maxRows else { throw damaged("a group has \(rows) rows") }
    let limit = size - GroupLayout.padding
    let directoryEnd = GroupLayout.headerSize + columns * GroupLayout.entrySize
    guard directoryEnd <= limit else { throw damaged("a group's column directory is cut off") }
    unsafe try checkKeys(bytes, rows: rows, from: directoryEnd, to: limit)
    let group = unsafe GroupView(checked: bytes)
    var last: UInt32?
    for position in 0..<columns {
      let column = unsafe try checkedColumn(bytes, rows: rows, position: position, from: directoryEnd, to: limit)
      if let last, column.id <= last { throw damaged("a group's columns are out of order") }
      last = column.id
    }
    try checkKeyOrder(group)
    return group
  }

  private static func damaged(_ message: String) -> ViewError { ViewError(.damaged, message) }

  private static func checkKeys(_ bytes: UnsafeRawBufferPointer, rows: Int, from: Int, to limit: Int) throws(ViewError)
  {
    let start = unsafe Int(bytes.little(UInt32.self, at: 20))
    let prefix = unsafe Int(bytes.little(UInt32.self, at: 24))
    let suffix = unsafe bytes.little(UInt32.self, at: 28)
    guard start >= from, start + prefix <= limit else { throw damaged("a group's keys lie outside") }
    if suffix != GroupLayout.variableSuffix {
      guard start + prefix + rows * Int(suffix) <= limit else { throw damaged("a group's keys lie outside") }
      return
    }
    let heap = start + prefix + rows * 4
    guard heap <= limit else { throw damaged("a group's keys lie outside") }
    unsafe try checkEnds(bytes, at: start + prefix, count: rows, width: 4, heap: heap, limit: limit, what: "keys")
  }

  private static func checkKeyOrder(_ group: GroupView) throws(ViewError) {
    for row in 1..<max(group.rows, 1) where unsafe group.suffix(row - 1).compare(group.suffix(row)) >= 0 {
      throw damaged("the keys of a group are out of order at row \(row)")
    }
  }

  /// End offsets must not fall and must stay inside.
  private static func checkEnds(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, count: Int, width: Int, heap: Int, limit: Int, what: String
  ) throws(ViewError) {
    var last = 0
    for index in 0..<count {
      let end =
        unsafe width == 2
        ? Int(bytes.little(UInt16.self, at: offset + index * 2))
        : Int(bytes.little(UInt32.self, at: offset + index * 4))
      guard end >= last, heap + end <= limit else { throw damaged("\(what) of a group lie outside") }
      last = end
    }
  }

  private static func checkedColumn(
    _ bytes: UnsafeRawBufferPointer, rows: Int, position: Int, from: Int, to limit: Int
  ) throws(ViewError) -> GroupColumn {
    let at = GroupLayout.headerSize + position * GroupLayout.entrySize
    let id = unsafe bytes.little(UInt32.self, at: at)
    let what = "column \(id)"
    guard let type = unsafe ColumnType(rawValue: bytes[at + 4]),
      let encoding = unsafe GroupLayout.Encoding(rawValue: bytes[at + 5])
    else { throw damaged("\(what) of a group has an unknown type or encoding") }
    let start = unsafe Int(bytes.little(UInt32.self, at: at + 8))
    let end = unsafe start + Int(bytes.little(UInt32.self, at: at + 12))
    let nullCount = unsafe Int(bytes.little(UInt16.self, at: at + 24))
    let nullBytes = nullCount == 0 || nullCount == rows ? 0 : (rows + 7) / 8
    let values = unsafe start + Int(bytes.little(UInt32.self, at: at + 16))
    let heap = unsafe start + Int(bytes.little(UInt32.self, at: at + 20))
    let minRow = unsafe Int(bytes.little(UInt16.self, at: at + 26))
    let maxRow = unsafe Int(bytes.little(UInt16.self, at: at + 28))
    guard nullCount <= rows, start >= from, end <= limit, minRow < rows, maxRow < rows else {
      throw damaged("\(what) of a group lies outside")
    }
    guard (encoding == .allNull) == (nullCount == rows) else { throw damaged("\(what): the null count is wrong") }
    let column = unsafe GroupColumn(group: bytes, rows: rows, at: at)
    if encoding == .allNull { return column }
    guard values >= start + nullBytes, values <= end else { throw damaged("\(what) of a group lies outside") }
    if nullBytes > 0 {
      var nulls = 0
      for row in 0..<rows where column.isNull(row) { nulls += 1 }
      guard nulls == nullCount else { throw damaged("\(what): the null map does not agree with the null count") }
    }
    let width = column.width
    let fits = values + rows * width <= end
    switch encoding {
    case .allNull: break
    case .frameOfReference:
      let known = width == 0 || width == 1 || width == 2 || width == 4 || width == 8
      guard type.storage == .integer, known, fits, values - 8 >= start + nullBytes else {
        throw damaged("\(what): bad integers")
      }
    case .real64, .real32:
      guard type.storage == .real, width == (encoding == .real64 ? 8 : 4), fits else {
        throw damaged("\(what): bad doubles")
      }
    case .realConstant:
      guard type.storage == .real, values - 8 >= start + nullBytes else { throw damaged("\(what): bad constant") }
    case .plainBytes:
      guard type.storage == .bytes, width == 2 || width == 4, fits, heap >= values + rows * width, heap <= end else {
        throw damaged("\(what): bad bytes")
      }
      unsafe try checkEnds(bytes, at: values, count: rows, width: width, heap: heap, limit: end, what: what)
    case .dictionaryBytes:
      let heapWidth = column.heapWidth
      let count = column.dictionaryCount
      guard type.storage == .bytes, width == 1 || width == 2, heapWidth == 2 || heapWidth == 4, fits, count > 0,
        heap >= values + rows * width, heap + count * heapWidth <= end
      else { throw damaged("\(what): bad dictionary") }
      unsafe try checkEnds(
        bytes, at: heap, count: count, width: heapWidth, heap: heap + count * heapWidth, limit: end, what: what)
      for row in 0..<rows where Int(column.number(width, at: values + row * width)) >= count {
        throw damaged("\(what): row \(row) names no entry of the dictionary")
      }
    }
    return column
  }
}
