import Bytes

/// What a segment's `meta` database holds of producers: every segment begins with what the one before knew.
extension SegmentMeta {
  static func producerKey(_ key: ProducerTable.Key) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 13)
    buffer.append(UInt8(2))
    buffer.append(bigEndian: UInt32(truncatingIfNeeded: key.partition))
    buffer.append(bigEndian: key.producer)
    return buffer.array
  }

  static func producer(_ entry: ProducerTable.Entry) -> [UInt8] {
    var value = ByteBuffer(capacity: 28 + 24 * ProducerTable.Entry.maximumStretches)
    value.append(entry.epoch)
    value.append(entry.lastSequence)
    value.append(entry.lastOffset)
    value.append(entry.usedAt)
    for stretch in entry.stretches {
      value.append(stretch.sequence)
      value.append(stretch.count)
      value.append(stretch.offset)
    }
    return value.array
  }

  static func producer(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) -> (ProducerTable.Key, ProducerTable.Entry)? {
    guard key.count == 13, unsafe key[0] == 2, value.count >= 28, (value.count - 28) % 24 == 0 else { return nil }
    var entry = ProducerTable.Entry(
      epoch: unsafe value.little(UInt32.self, at: 0), lastSequence: unsafe value.little(Int64.self, at: 4),
      lastOffset: unsafe value.little(Int64.self, at: 12), usedAt: unsafe value.little(Int64.self, at: 20))
    for place in stride(from: 28, to: value.count, by: 24) {
      entry.stretches.append(
        ProducerTable.Stretch(
          sequence: unsafe value.little(Int64.self, at: place), count: unsafe value.little(Int64.self, at: place + 8),
          offset: unsafe value.little(Int64.self, at: place + 16)))
    }
    let partition = Int(unsafe key.big(UInt32.self, at: 1))
    return (ProducerTable.Key(partition: partition, producer: unsafe key.big(UInt64.self, at: 5)), entry)
  }

  static func registrationKey(_ producer: UInt64) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 9)
    buffer.append(UInt8(3))
    buffer.append(bigEndian: producer)
    return buffer.array
  }

  static func registration(_ registration: ProducerTable.Registration) -> [UInt8] {
    var value = ByteBuffer(capacity: 64)
    value.append(registration.epoch)
    value.append(registration.openedAt)
    value.append(utf8: registration.name)
    return value.array
  }

  static func registration(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) -> (UInt64, ProducerTable.Registration)? {
    guard key.count == 9, unsafe key[0] == 3, value.count >= 12 else { return nil }
    return unsafe (
      unsafe key.big(UInt64.self, at: 1),
      ProducerTable.Registration(
        name: String(decoding: unsafe value.slice(12, value.count - 12), as: UTF8.self),
        epoch: unsafe value.little(UInt32.self, at: 0), openedAt: unsafe value.little(Int64.self, at: 4))
    )
  }
}
