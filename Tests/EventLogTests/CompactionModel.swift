import Bytes
import Testing

@testable import EventLog

/// What a compacted topic must hold: plain arrays, gone over from end to end.
struct CompactionModel {
  struct Entry: Equatable {
    var offset: Int64
    var key: [UInt8]?
    var value: [UInt8]
    var timestamp: Timestamp
    var headers: [LogHeader]
    var isSealed = false
    /// When a compaction first met it.
    var compactedAt: Int64?

    var isTombstone: Bool { key != nil && value.isEmpty }

    func matches(_ record: OwnedRecord) -> Bool {
      (offset, key, value, timestamp) == (record.offset, record.key, record.value, record.timestamp)
        && headers == record.headers
    }
  }

  var partitions: [[Entry]]
  var ends: [Int64]

  init(partitions: Int) {
    self.partitions = Array(repeating: [], count: partitions)
    ends = Array(repeating: 0, count: partitions)
  }

  mutating func append(_ record: NewRecord, at position: LogPosition) {
    #expect(position.offset == ends[position.partition])
    partitions[position.partition].append(
      Entry(
        offset: position.offset, key: record.key, value: record.value, timestamp: record.timestamp,
        headers: record.headers))
    ends[position.partition] = position.offset + 1
  }

  mutating func seal() {
    for partition in partitions.indices {
      for index in partitions[partition].indices { partitions[partition][index].isSealed = true }
    }
  }

  /// Returns how many tombstones went because their time was over.
  @discardableResult
  mutating func compact(now: Timestamp, delay: Duration) -> Int {
    var expired = 0
    for partition in partitions.indices {
      var latest: [[UInt8]: Int64] = [:]
      for entry in partitions[partition] where entry.isSealed {
        if let key = entry.key { latest[key] = entry.offset }
      }
      partitions[partition] = partitions[partition].compactMap { entry in
        guard entry.isSealed, let key = entry.key else { return entry }
        if let last = latest[key], last > entry.offset { return nil }
        guard entry.isTombstone else { return entry }
        var entry = entry
        entry.compactedAt = entry.compactedAt ?? now.microseconds
        if now.microseconds - (entry.compactedAt ?? 0) >= delay.wholeMicroseconds {
          expired += 1
          return nil
        }
        return entry
      }
    }
    return expired
  }

  /// What `topic` holds is what this says.
  func check(_ topic: LogTopic, _ place: String) throws {
    for partition in partitions.indices {
      let found = try topic.reader(partition: partition, from: topic.startOffset(partition)).drain()
      #expect(found.map(\.offset) == partitions[partition].map(\.offset), "\(place), partition \(partition)")
      #expect(zip(partitions[partition], found).allSatisfy { $0.matches($1) }, "\(place), partition \(partition)")
      #expect(try topic.endOffset(partition) == ends[partition], "\(place), partition \(partition)")
    }
    #expect(try topic.describe().records == Int64(partitions.reduce(0) { $0 + $1.count }), "\(place)")
    #expect(try topic.log.verify().damages == [], "\(place)")
  }

  /// `found` is a partition in the middle of a compaction: nothing that `after` keeps is missing, nothing is there that
  /// `before` has not.
  static func checkBetween(
    _ found: [OwnedRecord], _ before: [Entry], _ after: [Entry], from: Int64 = 0, _ place: String
  ) {
    let known = Dictionary(uniqueKeysWithValues: before.map { ($0.offset, $0) })
    #expect(found.allSatisfy { known[$0.offset]?.matches($0) ?? false }, "\(place)")
    #expect(zip(found, found.dropFirst()).allSatisfy { $0.offset < $1.offset }, "\(place)")
    let there = Set(found.map(\.offset))
    #expect(after.allSatisfy { $0.offset < from || there.contains($0.offset) }, "\(place)")
  }

  static func randomRecord(_ random: inout SeededGenerator, keys: Int) -> NewRecord {
    let key: [UInt8]?
    switch Int.random(in: 0..<12, using: &random) {
    case 0: key = nil
    case 1: key = []
    case 2: key = Array(repeating: UInt8.random(in: 0..<4, using: &random), count: 400)
    default: key = Array("key \(Int.random(in: 0..<keys, using: &random))".utf8)
    }
    let isTombstone = Int.random(in: 0..<5, using: &random) == 0
    let size = [1, 10, 100, 3000][Int.random(in: 0..<4, using: &random)]
    let time = Int.random(in: 0..<20, using: &random) == 0 ? Int64.max : Int64.random(in: 0..<1 << 40, using: &random)
    return NewRecord(
      key: key, value: isTombstone ? [] : (0..<size).map { _ in UInt8.random(in: 0..<8, using: &random) },
      timestamp: Timestamp(microseconds: time),
      headers: Int.random(in: 0..<8, using: &random) == 0 ? [LogHeader("trace", [1, 2])] : [])
  }
}
