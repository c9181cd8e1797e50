import Millrace

/// Makes records of lines, as `millrace append` was told to. Pure: the time comes from outside.
struct LineRecords {
  /// Why a line is no record.
  struct BadLine: Error, Equatable, CustomStringConvertible {
    var description: String
  }

  private let options: AppendOptions
  private let headers: [LogHeader]
  /// The paths asked of each line: key, then time.
  private let paths: [[String]]
  private let separator: [UInt8]

  init(_ options: AppendOptions) {
    self.options = options
    headers = options.headers.map { LogHeader($0.name, Array($0.value.utf8)) }
    var paths: [[String]] = []
    separator = if case .before(let text) = options.key { Array(text.utf8) } else { [] }
    if case .field(let path) = options.key { paths.append(path) }
    if let path = options.timestampField { paths.append(path) }
    self.paths = paths
  }

  /// The record of `line`, with the time `now` unless the line has one.
  func record(_ line: [UInt8], now: Timestamp) throws(BadLine) -> NewRecord {
    switch options.input {
    case .text: return try textRecord(line, now)
    case .json: return try jsonRecord(line, now)
    }
  }

  private func textRecord(_ line: [UInt8], _ now: Timestamp) throws(BadLine) -> NewRecord {
    if separator.isEmpty { return NewRecord(key: nil, value: line, timestamp: now, headers: headers) }
    guard let place = Self.find(separator, in: line) else {
      throw BadLine(
        description: "the separator '\(DisplayText(String(decoding: separator, as: UTF8.self)).text)' is not in it")
    }
    return NewRecord(
      key: try key(Array(line[..<place])), value: Array(line[(place + separator.count)...]), timestamp: now,
      headers: headers)
  }

  private static func find(_ separator: [UInt8], in line: [UInt8]) -> Int? {
    guard let first = separator.first, line.count >= separator.count else { return nil }
    for start in 0...(line.count - separator.count) where line[start] == first {
      if line[start..<start + separator.count].elementsEqual(separator) { return start }
    }
    return nil
  }

  private func jsonRecord(_ line: [UInt8], _ now: Timestamp) throws(BadLine) -> NewRecord {
    // JSON is UTF-8; what is not would be refused by whoever decodes it.
    guard String(validating: line, as: UTF8.self) != nil else { throw BadLine(description: "it is not UTF-8") }
    let found: [Range<Int>?]
    do throws(JSONScanner.Fault) {
      found = try JSONScanner.fields(paths, in: line)
    } catch {
      throw BadLine(description: "it is not JSON: \(error)")
    }
    var key: [UInt8]?
    if case .field(let path) = options.key {
      key = try self.key(try scalar(path, found.first ?? nil, in: line).text)
    }
    var time = now
    if let path = options.timestampField {
      time = try timestamp(try scalar(path, found.last ?? nil, in: line), path)
    }
    return NewRecord(key: key, value: line, timestamp: time, headers: headers)
  }

  private struct Scalar {
    var text: [UInt8]
    var isString: Bool
  }

  private func scalar(_ path: [String], _ range: Range<Int>?, in line: [UInt8]) throws(BadLine) -> Scalar {
    let name = DisplayText(path.joined(separator: ".")).text
    guard let range, let first = line[range].first else { throw BadLine(description: "it has no field '\(name)'") }
    switch first {
    case UInt8(ascii: "\""): return Scalar(text: JSONScanner.text(line[range]), isString: true)
    case UInt8(ascii: "{"), UInt8(ascii: "["): throw BadLine(description: "the field '\(name)' is a list or an object")
    case UInt8(ascii: "n"): throw BadLine(description: "the field '\(name)' is null")
    default: return Scalar(text: Array(line[range]), isString: false)
    }
  }

  private func key(_ text: [UInt8]) throws(BadLine) -> [UInt8] {
    guard options.keyType == .integer else { return text }
    guard let number = Int64(String(decoding: text, as: UTF8.self)) else {
      throw BadLine(
        description: "the key '\(DisplayText(String(decoding: text, as: UTF8.self)).text)' is no integer of 64 bits")
    }
    var buffer = ByteBuffer(capacity: 8)
    number.encodeKey(into: &buffer)
    return buffer.array
  }

  private func timestamp(_ scalar: Scalar, _ path: [String]) throws(BadLine) -> Timestamp {
    let text = String(decoding: scalar.text, as: UTF8.self)
    if let number = Int64(text) {
      let scale: Int64 =
        switch options.timestampUnit {
        case .seconds: 1_000_000
        case .milliseconds: 1000
        case .microseconds: 1
        }
      let (microseconds, isTooLarge) = number.multipliedReportingOverflow(by: scale)
      if !isTooLarge { return Timestamp(microseconds: microseconds) }
    } else if scalar.isString, let time = TimeText.parse(text) {
      return time
    } else if !scalar.isString, let number = Double(text), options.timestampUnit == .seconds, abs(number) < 1e12 {
      return Timestamp(microseconds: Int64((number * 1e6).rounded()))
    }
    throw BadLine(
      description: "the field '\(DisplayText(path.joined(separator: ".")).text)' is no time: "
        + "'\(DisplayText(text).text)'")
  }
}
