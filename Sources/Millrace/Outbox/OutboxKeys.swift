import Bytes
import LMDB

/// The keys of the outbox database; see docs/FORMAT.md.
enum OutboxKeys {
  static let databases = ["outbox"]

  /// Who appends: one job's sink to one topic.
  struct Lane: Hashable, Sendable {
    /// The idempotent producer's number: XXH64 of job, topic and the topic's id.
    var producer: UInt64
    /// The job's incarnation: fences the older ones.
    var epoch: UInt32
    var partition: UInt32
  }

  private enum Kind: UInt8 {
    case next = 1
    case row = 2
    case producer = 3
  }

  /// Where the lane's next sequence stands.
  static func next(_ lane: Lane) -> [UInt8] { key(.next, lane).array }

  /// A row of records from `sequence` on.
  static func row(_ lane: Lane, sequence: Int64) -> [UInt8] {
    var buffer = key(.row, lane)
    buffer.append(bigEndian: sequence)
    return buffer.array
  }

  /// Where rows begin.
  static var rows: [UInt8] { [Kind.row.rawValue] }

  /// The producer's topic: an `OutboxTarget`.
  static func producer(_ producer: UInt64) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 16)
    buffer.append(Kind.producer.rawValue)
    buffer.append(bigEndian: producer)
    return buffer.array
  }

  /// Lane and sequence of a row's key; nil for other keys.
  static func parseRow(_ key: UnsafeRawBufferPointer) -> (lane: Lane, sequence: Int64)? {
    guard key.count == 25, unsafe key[0] == Kind.row.rawValue else { return nil }
    let lane = unsafe Lane(
      producer: key.big(UInt64.self, at: 1), epoch: key.big(UInt32.self, at: 9), partition: key.big(UInt32.self, at: 13)
    )
    return unsafe (lane, key.big(Int64.self, at: 17))
  }

  private static func key(_ kind: Kind, _ lane: Lane) -> ByteBuffer {
    var buffer = ByteBuffer(capacity: 32)
    buffer.append(kind.rawValue)
    buffer.append(bigEndian: lane.producer)
    buffer.append(bigEndian: lane.epoch)
    buffer.append(bigEndian: lane.partition)
    return buffer
  }
}
