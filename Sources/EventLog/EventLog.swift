import Bytes
import LMDB
import Synchronization

/// A partitioned log of records in one directory: topics of segments, each segment one LMDB file.
///
/// One handle writes, in one process; any number of handles in other processes read beside it. All members may be
/// called from any thread; those that change topics or open files block for the disk.
///
/// What it takes does not grow with the number of topics and partitions, but for about 26 KB for each opened topic
/// and about 40 bytes for each of its partitions: at most `LogOptions.maximumOpenSegments` segments are open, and there
/// are at most 16 threads that write (those idle for five seconds end), one that reads for asynchronous sequences, one
/// for delays, and one for each compaction that runs. Opening a log reads its catalogue and looks at the length of each
/// segment's file; a topic is recovered when it is first used.
public final class EventLog: Sendable {
  let core: LogCore
  private let topics = Mutex<[String: OpenTopic]>([:])
  private let ending = Mutex<EventLogError?>(nil)

  init(core: LogCore) { self.core = core }

  deinit { close() }

  /// Opens the log in `directory`, creating it if it is opened for writing and not there.
  ///
  /// Opening is the recovery: what a crash left of a segment being created, rolled or removed is put right here, and
  /// nothing that was acknowledged is missing.
  ///
  /// - Throws: `alreadyOpen` if it is open for writing elsewhere; `missingSegment`, `truncatedSegment` or `damaged`
  ///   with what is missing, unless the options say to report instead; `unsupportedFormat`, `notFound`, `storage`.
  public static func open(at directory: String, _ options: LogOptions = LogOptions()) throws(EventLogError) -> EventLog
  {
    let core = try LogCore(directory: directory, options: options)
    let (topics, segments) = try core.catalog.load()
    if core.isWritable {
      var named: [String: Set<UInt64>] = [:]
      for (name, topic) in topics { named[name] = Set((segments[topic.id] ?? []).map(\.number)) }
      try LogFiles.removeOrphans(in: directory, keeping: named)
    }
    if options.damage == .refuse {
      for (name, topic) in topics {
        for segment in segments[topic.id] ?? [] { try check(segment, of: name, core) }
      }
    }
    return EventLog(core: core)
  }

  /// Refuses a segment that is missing or cut off.
  private static func check(_ segment: SegmentRecord, of topic: String, _ core: LogCore) throws(EventLogError) {
    let path = core.directory + "/" + topic + "/" + LogFiles.segmentName(segment.number)
    // A sealed file of its full length needs no look inside; in a reading process the live one is looked at on use.
    if let size = LogFiles.size(path), segment.isSealed ? size >= segment.bytes : !core.isWritable { return }
    do { try SegmentFile.checkLength(path, topic: topic) } catch { throw error.naming(segment) }
  }

  public var directory: String { core.directory }

  /// The names of the topics, sorted.
  public func topicNames() throws(EventLogError) -> [String] {
    try requireOpen()
    return try core.catalog.load().topics.keys.sorted()
  }

  /// The topic called `name`.
  ///
  /// - Throws: `unknownTopic`.
  public func topic(_ name: String) throws(EventLogError) -> LogTopic {
    try requireOpen()
    let open = try changing { topics throws(EventLogError) in
      if let topic = topics[name] { return topic }
      guard let topic = try self.load(name) else {
        throw EventLogError(.unknownTopic, "there is no such topic; create it first", topic: name)
      }
      topics[name] = topic
      return topic
    }
    return LogTopic(self, open)
  }

  /// The topic called `name`, created with `options` if it is not there.
  ///
  /// An existing topic keeps its options (see `setOptions`); its number of partitions must be the one asked for.
  ///
  /// - Throws: `topicExists` if its number of partitions is another; `invalidTopic`; `storage`.
  public func topic(_ name: String, _ options: TopicOptions) throws(EventLogError) -> LogTopic {
    try requireOpen()
    let open = try changing { topics throws(EventLogError) in
      var found = topics[name]
      if found == nil { found = try self.load(name) }
      if let found {
        guard found.state.partitions == options.partitions else {
          throw EventLogError(
            .topicExists,
            "the topic has \(found.state.partitions) partitions, not \(options.partitions); the number never changes",
            topic: name)
        }
        topics[name] = found
        return found
      }
      try options.validate(topic: name)
      let topic = try self.create(name, options)
      topics[name] = topic
      return topic
    }
    return LogTopic(self, open)
  }

  /// Changes a topic's options, all but the number of partitions; they hold from the next roll or maintenance on.
  public func setOptions(of name: String, _ change: (inout TopicOptions) -> Void) throws(EventLogError) {
    let topic = try topic(name)
    _ = try topic.requireWriter()
    var options = topic.options
    change(&options)
    options.partitions = topic.partitions
    try options.validate(topic: name)
    guard let entry = try core.catalog.find(name)?.topic else {
      throw EventLogError(.unknownTopic, "there is no such topic", topic: name)
    }
    try core.catalog.write("changing a topic's options failed") { transaction in
      try core.catalog.put(
        topic: name, TopicRecord(id: entry.id, createdAt: entry.createdAt, options: options), in: transaction)
    }
    topic.state.options = options
    topic.writer?.queue.isStamped = options.timestamps == .append
  }

  /// Removes a topic and its files. Its readers and appenders get `topicDeleted`.
  public func deleteTopic(_ name: String) throws(EventLogError) {
    try requireOpen()
    try requireWritable(name)
    try changing { topics throws(EventLogError) in
      let (known, segments) = try self.core.catalog.load()
      guard let record = known[name] else {
        throw EventLogError(.unknownTopic, "there is no such topic", topic: name)
      }
      let gone = segments[record.id] ?? []
      let deleted = EventLogError(.topicDeleted, "the topic was deleted", topic: name)
      if let topic = topics.removeValue(forKey: name) { topic.writer?.stop(deleted) }
      try self.core.catalog.write("deleting a topic failed") { transaction in
        try self.core.catalog.remove(topic: name, in: transaction)
        for segment in gone { try self.core.catalog.remove(segment, in: transaction) }
      }
      for segment in gone {
        let path = self.core.directory + "/" + name + "/" + LogFiles.segmentName(segment.number)
        self.core.pool.forget(path)
        try LogFiles.removeSegment(path)
      }
      try JournalFile(in: self.core.directory + "/" + name).remove()
      try LogFiles.removeDirectory(self.core.directory + "/" + name)
      try LogFiles.syncDirectory(self.core.directory)
    }
  }

  /// Writes what was accepted, then ends every topic's writer; readers, appenders and waiters get `closed`.
  ///
  /// Happens by itself when nobody holds the log or any of its topics, readers and appenders any more.
  public func close() {
    let error = EventLogError(.closed, "the log was closed")
    let isFirst = ending.withLock { ending in
      defer { ending = ending ?? error }
      return ending == nil
    }
    if !isFirst { return }
    let open = topics.withLock { topics in
      defer { topics = [:] }
      return topics
    }
    for topic in open.values {
      if let writer = topic.writer { writer.stop(error) } else { topic.state.end(error) }
    }
    core.close()
  }

  // MARK: Inside

  func requireOpen() throws(EventLogError) {
    if let error = ending.withLock({ $0 }) { throw error }
  }

  private func requireWritable(_ topic: String) throws(EventLogError) {
    if !core.isWritable {
      throw EventLogError(.readOnly, "the log was opened for reading; change it where it is written", topic: topic)
    }
  }

  /// The topics that are open now.
  func openTopics() -> [OpenTopic] { topics.withLock { Array($0.values) } }

  private func changing<R: Sendable>(
    _ body: (inout [String: OpenTopic]) throws(EventLogError) -> R
  ) throws(EventLogError) -> R {
    let result = topics.withLock { topics -> Result<R, EventLogError> in
      do throws(EventLogError) { return .success(try body(&topics)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func load(_ name: String) throws(EventLogError) -> OpenTopic? {
    guard let (record, segments) = try core.catalog.find(name) else { return nil }
    return try open(name, record, segments)
  }

  private func open(_ name: String, _ record: TopicRecord, _ segments: [SegmentRecord]) throws(EventLogError)
    -> OpenTopic
  {
    guard core.isWritable else {
      return OpenTopic(
        state: TopicState(name: name, record: record, segments: segments, tail: nil, core: core), writer: nil
      )
    }
    guard let live = segments.last, !live.isSealed else {
      throw EventLogError(
        .damaged, "the catalogue names no live segment; restore it from a backup", topic: name,
        path: core.catalog.environment.path)
    }
    let probe = TopicState(name: name, record: record, segments: segments, tail: nil, core: core)
    let file = try probe.file(of: live)
    do {
      let (tail, producers) = try file.recover(
        live, limit: core.options.maximumProducers, expiry: core.options.producerExpiry.wholeMicroseconds)
      let state = TopicState(name: name, record: record, segments: segments, tail: tail, core: core)
      let writer = TopicWriter(state: state, file: file, segments: segments, tail: tail, producers: producers)
      do {
        try writer.recoverJournal()
      } catch {
        writer.abandon()
        throw error
      }
      return OpenTopic(state: state, writer: writer)
    } catch {
      throw EventLogError(wrapping: error, "finding the end of the log failed", topic: name)
    }
  }

  /// Directory, first segment, both synced; then one catalogue transaction makes the topic.
  private func create(_ name: String, _ options: TopicOptions) throws(EventLogError) -> OpenTopic {
    try requireWritable(name)
    let directory = core.directory + "/" + name
    try LogFiles.makeDirectory(directory)
    let now = core.options.clock()
    let number = try core.catalog.nextSegment()
    var segment = SegmentRecord(
      topic: 0, number: number, createdAt: now, firstSequence: 0, starts: Array(repeating: 0, count: options.partitions)
    )
    segment.topic = try core.catalog.nextTopic()
    let record = TopicRecord(id: segment.topic, createdAt: now, options: options)
    let mapBytes = TopicState(name: name, record: record, segments: [segment], tail: nil, core: core)
      .mapBytes
    let path = directory + "/" + LogFiles.segmentName(number)
    let file = try SegmentFile.create(path, segment, producers: ProducerTable(), topic: name, mapBytes: mapBytes)
    let named = segment
    do {
      try LogFiles.syncDirectory(directory)
      try core.catalog.write("creating a topic failed") { transaction in
        _ = try core.catalog.allot("topic", in: transaction)
        _ = try core.catalog.allot("segment", in: transaction)
        try core.catalog.put(topic: name, record, in: transaction)
        try core.catalog.put(named, in: transaction)
      }
    } catch {
      try? LogFiles.removeSegment(path)
      throw error
    }
    _ = try core.pool.segment(path) { file }
    return try open(name, record, [named])
  }
}
