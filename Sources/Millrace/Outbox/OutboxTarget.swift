import Bytes

/// Where a producer's rows go: the topic's id in the log (u64, little-endian), then its name.
struct OutboxTarget: Sendable, Hashable {
  var id: UInt64
  var topic: String

  var encoded: [UInt8] {
    var buffer = ByteBuffer(capacity: 8 + topic.utf8.count)
    buffer.append(id)
    buffer.append(Array(topic.utf8))
    return buffer.array
  }

  init(id: UInt64, topic: String) {
    self.id = id
    self.topic = topic
  }

  /// Nil if the bytes are too few.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 8 else { return nil }
    id = unsafe bytes.little(UInt64.self, at: 0)
    topic = unsafe String(decoding: bytes.slice(8, bytes.count - 8), as: UTF8.self)
  }

  /// The number of the idempotent producer that `job` is for this topic.
  func producer(of job: String) -> UInt64 {
    unsafe Array("\(job)\0\(topic)\0\(id)".utf8).withUnsafeBytes { unsafe KeyHash($0).value }
  }
}
