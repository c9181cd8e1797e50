public import Bytes
public import Dataflow
public import EventLog
public import Records

/// How a topic's events become keys, times and bytes, and bytes events again: closures over whole batches, formed in
/// inlinable code so that they are specialised in the user's module.
@usableFromInline
@safe
struct EventCoding<Event: Sendable>: Sendable {
  /// Appends the key's canonical bytes.
  @usableFromInline let encodeKey: @Sendable (Event, inout ByteBuffer) -> Void
  /// The event's own time; nil where the topic takes the time of the append.
  @usableFromInline let timestamp: (@Sendable (Event) -> Timestamp)?
  /// Appends the value's bytes, the number of its schema in front.
  @usableFromInline let encode: @Sendable (Event, inout ByteBuffer) throws -> Void
  /// Appends the events of a log's batch below `end` to a batch of the flow; returns how many were left out.
  @usableFromInline let decode: @Sendable (LogBatch, DecodingTask, inout Batch<Event>) throws -> Int
  /// The event in one record's value.
  @usableFromInline let decodeOne: @Sendable (UnsafeRawBufferPointer) throws -> Event

  @inlinable
  init<Key: KeyEncodable>(
    key: @escaping @Sendable (Event) -> Key, timestamp: (@Sendable (Event) -> Timestamp)?,
    schemas: TopicSchemas<Event>, number: UInt8
  ) {
    let codec = schemas.codec
    encodeKey = { event, buffer in key(event).encodeKey(into: &buffer) }
    self.timestamp = timestamp
    encode = { event, buffer in
      buffer.append(number)
      try codec.encode(event, into: &buffer)
    }
    unsafe decodeOne = { value in
      var decoder = EventDecoder(schemas)
      return try unsafe decoder.decode(value)
    }
    decode = { batch, task, records in
      records.reserve(records.count + batch.count)
      var decoder = EventDecoder(schemas)
      var skipped = 0
      for record in batch {
        if record.offset >= task.end { break }
        do {
          records.append(try unsafe decoder.decode(record.value), at: record.timestamp)
        } catch {
          try task.handle(error, batch.partition, record.offset)
          skipped += 1
          continue
        }
        if task.wantsKeys { unsafe records.keys.append(record.key) }
      }
      return skipped
    }
  }
}

/// What a reader asks of the decoding of one batch.
@usableFromInline
struct DecodingTask {
  /// The first offset that is not wanted any more.
  @usableFromInline let end: Int64
  @usableFromInline let wantsKeys: Bool
  @usableFromInline let topic: String
  @usableFromInline let policy: UndecodablePolicy

  /// Decides about a record that cannot be decoded: throws, unless it may be left out.
  @usableFromInline
  func handle(_ error: any Error, _ partition: Int, _ offset: Int64) throws {
    switch policy {
    case .skip: return
    case .fail: throw StoreError.undecodable(topic, partition, offset, error)
    }
  }
}

extension StoreError {
  /// The error of one record that is not of its topic's type.
  static func undecodable(_ topic: String, _ partition: Int, _ offset: Int64, _ cause: any Error) -> StoreError {
    StoreError(
      .undecodableRecord, path: "topic \(topic), partition \(partition), offset \(offset)",
      detail: "the record's bytes are not of the topic's type; repair the producer, or read with onUndecodable: .skip",
      cause: cause)
  }
}

/// Decodes the values of one batch: keeps the codec of the schema that it met last at hand.
@usableFromInline
struct EventDecoder<Event: Sendable> {
  @usableFromInline let schemas: TopicSchemas<Event>
  @usableFromInline var number: UInt8
  @usableFromInline var codec: Codec<Event>

  @inlinable
  init(_ schemas: TopicSchemas<Event>) {
    self.schemas = schemas
    number = schemas.number
    codec = schemas.codec
  }

  @inlinable
  mutating func decode(_ value: UnsafeRawBufferPointer) throws -> Event {
    guard let found = unsafe value.first else { throw TopicSchemas<Event>.noSchemaNumber }
    if found != number {
      codec = try schemas.codec(number: found)
      number = found
    }
    return try unsafe codec.decode(UnsafeRawBufferPointer(rebasing: value[1...]))
  }
}
