public import Bytes
public import Dataflow
public import EventLog
import LMDB
public import Records

extension Store {
  /// The topic called `name` whose records are `Event`s, created if it is not there.
  ///
  /// Its writers' schemas are kept in the store: events written with older fields are read as `Event` as it is now.
  /// Blocks for a commit when topic or schema are new.
  ///
  /// - Parameters:
  ///   - key: what orders events: those with equal keys share a partition and keep their order. A key path will do.
  ///   - timestamp: the event's own time; without it, the time of the append.
  ///   - partitions: of a new topic; an existing one keeps the number that it has, and another one is refused.
  ///   - options: segments and retention of a new topic; an existing one keeps its own.
  /// - Throws: `RecordsError` naming the field that cannot be stored, or that keeps older events from being read;
  ///   `EventLogError.topicExists` for another number of partitions; `StoreError.readOnly` if it would have to be
  ///   created.
  @inlinable
  public func topic<Event: Record, Key: KeyEncodable>(
    _ name: String, of _: Event.Type = Event.self, key: @escaping @Sendable (Event) -> Key,
    timestamp: (@Sendable (Event) -> Timestamp)? = nil, partitions: Int = 1, options: TopicOptions = TopicOptions()
  ) throws -> Topic<Event> {
    try topic(
      name, codec: try Codec<Event>.record, key: key, timestamp: timestamp, partitions: partitions, options: options)
  }

  /// As `topic(_:of:key:timestamp:partitions:options:)`, with a codec of your choice: `.codable`, `.json`, …
  @inlinable
  public func topic<Event: Sendable, Key: KeyEncodable>(
    _ name: String, codec: Codec<Event>, key: @escaping @Sendable (Event) -> Key,
    timestamp: (@Sendable (Event) -> Timestamp)? = nil, partitions: Int = 1, options: TopicOptions = TopicOptions()
  ) throws -> Topic<Event> {
    let (log, schemas) = try openTopic(name, codec, partitions, options)
    return Topic(self, log, EventCoding(key: key, timestamp: timestamp, schemas: schemas, number: schemas.number))
  }

  @usableFromInline
  func openTopic<Event: Sendable>(
    _ name: String, _ codec: Codec<Event>, _ partitions: Int, _ options: TopicOptions
  ) throws -> (LogTopic, TopicSchemas<Event>) {
    var options = options
    options.partitions = partitions
    let topic = isWritable ? try log.topic(name, options) : try log.topic(name)
    let catalogue = try TopicCatalogue(environment)
    let id = topic.id
    let environment = environment
    let reload: @Sendable () throws -> [Schema] = {
      try environment.read { try catalogue.schemas(of: id, in: $0) }
    }
    var known = try reload()
    var number = known.firstIndex(of: codec.schema)
    if number == nil && isWritable {
      // Refuse before anything is written.
      for schema in known { _ = try codec.reading(writtenWith: schema) }
      number = Int(try checkpoints.write { try catalogue.add(codec.schema, to: id, in: $0) })
      known = try reload()
    }
    // A reader whose own schema is not the writers' never writes: the number is not used.
    let schemas = try TopicSchemas(
      name, codec: codec, number: UInt8(truncatingIfNeeded: number ?? 255), known: known, reload: reload)
    return (topic, schemas)
  }

  /// The names of the topics, sorted.
  public func topicNames() throws -> [String] { try log.topicNames() }
}
