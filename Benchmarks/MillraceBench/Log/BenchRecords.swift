import Millrace

/// The records that the log's scenarios append: 8 bytes of key and 92 of value, the same ones in every run.
struct BenchRecords {
  static let keyBytes = 8
  static let recordBytes = 100
  static let count = 1 << 13
  private static let stride = 104
  private var bytes: [UInt8]

  /// Random bytes, or with `isText` lines of JSON as events are, which can be compressed.
  init(isText: Bool = false) {
    var random = SplitMix64(seed: 1)
    bytes = []
    bytes.reserveCapacity(Self.count * Self.stride)
    for index in 0..<Self.count {
      unsafe withUnsafeBytes(of: random.next()) { unsafe bytes.append(contentsOf: $0) }
      if isText {
        bytes.append(contentsOf: Self.line(&random).utf8.prefix(Self.recordBytes - Self.keyBytes))
      }
      while bytes.count < (index + 1) * Self.stride {
        unsafe withUnsafeBytes(of: random.next()) { unsafe bytes.append(contentsOf: $0) }
      }
      bytes.removeLast(bytes.count - (index + 1) * Self.stride)
    }
  }

  private static func line(_ random: inout SplitMix64) -> String {
    let kind = ["bid", "click", "impression", "purchase"][Int(random.next() % 4)]
    let region = ["north", "south", "east", "west"][Int(random.next() % 4)]
    let text =
      #"{"product":"p-\#(random.next() % 100_000)","campaign":\#(random.next() % 500),"kind":"\#(kind)","#
      + #""amount":\#(random.next() % 10_000),"region":"\#(region)"}"#
    return text + String(repeating: " ", count: max(0, recordBytes - keyBytes - text.utf8.count))
  }

  /// Calls `body` with key and value of `count` records in turn, from the first one on.
  func forEach(
    _ count: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, Timestamp) throws -> Void
  ) throws {
    try unsafe bytes.withUnsafeBytes { bytes in
      for index in 0..<count {
        let start = (index & (Self.count - 1)) &* Self.stride
        try unsafe body(
          UnsafeRawBufferPointer(rebasing: bytes[start..<start + Self.keyBytes]),
          UnsafeRawBufferPointer(rebasing: bytes[start + Self.keyBytes..<start + Self.recordBytes]),
          Timestamp(microseconds: Int64(index)))
      }
    }
  }

  /// Key and value as arrays, as the appending calls for tasks take them.
  func arrays() -> [(key: [UInt8], value: [UInt8])] {
    (0..<Self.count).map { index in
      let start = index * Self.stride
      return (
        key: Array(bytes[start..<start + Self.keyBytes]),
        value: Array(bytes[start + Self.keyBytes..<start + Self.recordBytes])
      )
    }
  }

  /// Appends `count` records from one thread and waits until all are durable.
  func fill(_ topic: LogTopic, _ count: Int, recordsPerBatch: Int = 1000) throws {
    var appender = try topic.makeAppender(recordsPerBatch: recordsPerBatch)
    try unsafe forEach(count) { key, value, time in try unsafe appender.append(key: key, value: value, timestamp: time)
    }
    try appender.flushBlocking()
  }
}

extension BenchRecords {
  /// Visits every record of the topic, looking at its first bytes; returns their number and sum.
  static func visit(_ topic: LogTopic, _ checksums: LogReader.Checksums = .verify) throws -> (Int, UInt64) {
    var starts: [Int: Int64] = [:]
    for (partition, range) in try topic.offsets().enumerated() { starts[partition] = range.lowerBound }
    let reader = try topic.reader(from: starts, checksums: checksums)
    var count = 0
    var sum: UInt64 = 0
    while true {
      let read = try reader.read(maxBytes: 4 << 20) { batch in
        for record in batch {
          sum &+= unsafe record.value.loadUnaligned(as: UInt64.self)
          count += 1
        }
      }
      if read == 0 { return (count, sum) }
    }
  }
}
