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
  /// Appends the events of a log's batch below `end` to a batch of the flow.
  @usableFromInline let decode: @Sendable (LogBatch, DecodingTask, inout Batch<Event>) throws -> Void
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
      for record in batch {
        if record.offset >= task.end { break }
        do {
          records.append(try unsafe decoder.decode(record.value), at: record.timestamp)
        } catch {
          try task.handle(error, batch.partition, record.offset)
          continue
        }
        if task.wantsKeys { unsafe records.keys.append(record.key) }
      }
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
  @usableFromInline let skipped: SkipCounter

  /// Decides about a record that cannot be decoded.
  @usableFromInline
  func handle(_ error: any Error, _ partition: Int, _ offset: Int64) throws {
    switch policy {
    case .skip: skipped.add()
    case .fail:
      throw StoreError(
        .undecodableRecord, path: "topic \(topic), partition \(partition), offset \(offset)",
        detail:
          "the record's bytes are not of the topic's type; repair the producer, or read with onUndecodable: .skip",
        cause: error)
    }
  }
}

/// What becomes of a record whose bytes are not of the topic's type.
public enum UndecodablePolicy: Sendable {
  /// Reading throws, naming topic, partition and offset. The default.
  case fail
  /// It is left out and counted.
  case skip
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
