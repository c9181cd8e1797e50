import Bytes

/// Where the timestamps of a topic's records come from.
public enum TimestampSource: UInt32, Hashable, Sendable {
  /// From whoever appends: when the event happened.
  case event = 0
  /// From the log: when its batch was committed, by the log's clock, and never before the topic's last one. What
  /// whoever appends gives is ignored.
  case append = 1
}

/// The settings of a topic, kept in the catalogue.
public struct TopicOptions: Hashable, Sendable {
  /// How many partitions: 1…65,536, fixed at creation.
  public var partitions: Int
  /// A segment is sealed at about this size in bytes, at least 1 MiB.
  public var segmentBytes: Int
  /// A segment with records is sealed at this age, counted from its first record; nil for never.
  public var segmentAge: Duration?
  /// Oldest segments are removed while the topic is larger; nil for no limit. The live segment always stays.
  public var retentionBytes: Int?
  /// Segments whose last record was appended longer ago are removed; nil for never.
  public var retentionAge: Duration?
  /// The largest record, key and value and headers together, in bytes: at most 16,777,215.
  public var maximumRecordBytes: Int
  /// Where timestamps come from. A change holds for batches begun after it.
  public var timestamps: TimestampSource
  /// How batches are compressed from now on; those that are there stay readable as they are.
  public var compression: Compression
  /// Whether only the latest record of each key is kept; nil: all are.
  public var compaction: Compaction?
  /// When appends are acknowledged.
  public var durability: Durability

  public init(
    partitions: Int = 1, segmentBytes: Int = 256 << 20, segmentAge: Duration? = nil, retentionBytes: Int? = nil,
    retentionAge: Duration? = nil, maximumRecordBytes: Int = 1 << 20, timestamps: TimestampSource = .event,
    compression: Compression = .none, compaction: Compaction? = nil, durability: Durability = .synced
  ) {
    self.partitions = partitions
    self.segmentBytes = segmentBytes
    self.segmentAge = segmentAge
    self.retentionBytes = retentionBytes
    self.retentionAge = retentionAge
    self.maximumRecordBytes = maximumRecordBytes
    self.timestamps = timestamps
    self.compression = compression
    self.compaction = compaction
    self.durability = durability
  }

  func validate(topic: String) throws(EventLogError) {
    func check(_ isValid: Bool, _ rule: String) throws(EventLogError) {
      if !isValid { throw EventLogError(.invalidTopic, rule, topic: topic) }
    }
    try check(
      !topic.isEmpty && topic.utf8.count <= 200 && topic.utf8.allSatisfy(Self.isAllowed) && topic.utf8.first != 0x2E,
      "a topic's name has 1 to 200 of the characters A–Z, a–z, 0–9, '.', '_', '-' and does not begin with a dot")
    try check((1...65_536).contains(partitions), "a topic has 1 to 65,536 partitions, not \(partitions)")
    try check(segmentBytes >= 1 << 20, "segmentBytes is at least 1 MiB, not \(segmentBytes)")
    try check(segmentBytes <= 1 << 40, "segmentBytes is at most 1 TiB, not \(segmentBytes)")
    try check(
      (1...RecordFraming.maximumValueBytes).contains(maximumRecordBytes),
      "maximumRecordBytes is 1 to \(RecordFraming.maximumValueBytes), not \(maximumRecordBytes)")
    try check(retentionBytes.map { $0 >= 0 } ?? true, "retentionBytes is not negative")
    try check(retentionAge.map { $0 >= .zero } ?? true, "retentionAge is not negative")
    try check(segmentAge.map { $0 > .zero } ?? true, "segmentAge is positive")
    try check(durability.isValid, "the interval of a topic's durability is 1 ms to 1 hour, not \(durability)")
    if case .zstd(let level) = compression {
      try check((1...19).contains(level), "zstd has the levels 1 to 19, not \(level)")
    }
    if let compaction {
      try check(compaction.tombstoneDelay >= .zero, "tombstoneDelay is not negative")
      try check(compaction.minimumAge >= .zero, "minimumAge is not negative")
      try check(
        (0...1).contains(compaction.dirtyRatio), "dirtyRatio is 0 to 1, not \(compaction.dirtyRatio)")
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x5F, 0x2D: true
    default: false
    }
  }
}

/// What the catalogue says of a topic.
struct TopicRecord: Equatable, Sendable {
  var id: UInt64
  var createdAt: Timestamp
  var options: TopicOptions

  /// | bytes | meaning |
  /// |---|---|
  /// | 4 | version, 1 |
  /// | 4 | CRC-32C of what follows |
  /// | 8 | topic id |
  /// | 8 | created at, µs |
  /// | 4, 4 | partitions, largest record in bytes |
  /// | 8 × 4 | segment bytes, segment age µs, retention bytes, retention age µs; −1 for none |
  /// | 4 | source of timestamps |
  /// | 4 | zstd level, 0 for no compression |
  /// | 8 × 3 | compaction: tombstone delay µs (−1 for no compaction), least age µs, dirty ratio as f64 |
  /// | 8 | durability: −1 synced, 0 system, else the interval in µs |
  func encoded() -> [UInt8] {
    var body = ByteBuffer()
    body.append(id)
    body.append(createdAt.microseconds)
    body.append(UInt32(truncatingIfNeeded: options.partitions))
    body.append(UInt32(truncatingIfNeeded: options.maximumRecordBytes))
    body.append(Int64(options.segmentBytes))
    body.append(options.segmentAge?.wholeMicroseconds ?? -1)
    body.append(Int64(options.retentionBytes ?? -1))
    body.append(options.retentionAge?.wholeMicroseconds ?? -1)
    body.append(options.timestamps.rawValue)
    body.append(UInt32(truncatingIfNeeded: options.compression.level))
    body.append(options.compaction?.tombstoneDelay.wholeMicroseconds ?? -1)
    body.append(options.compaction?.minimumAge.wholeMicroseconds ?? 0)
    body.append(options.compaction?.dirtyRatio.bitPattern ?? 0)
    body.append(options.durability.encoded)
    return Sealed.wrap(body)
  }

  init(id: UInt64, createdAt: Timestamp, options: TopicOptions) {
    self.id = id
    self.createdAt = createdAt
    self.options = options
  }

  init(_ bytes: UnsafeRawBufferPointer, path: String) throws(EventLogError) {
    let body = unsafe try Sealed.unwrap(bytes, atLeast: 96, "a topic", path: path)
    func optional(_ value: Int64) -> Int64? { value < 0 ? nil : value }
    guard let timestamps = unsafe TimestampSource(rawValue: body.little(UInt32.self, at: 56)) else {
      throw EventLogError(
        .unsupportedFormat, "a topic takes its timestamps in a way this library does not know; upgrade it", path: path)
    }
    unsafe id = body.little(UInt64.self, at: 0)
    unsafe createdAt = Timestamp(microseconds: body.little(Int64.self, at: 8))
    unsafe options = TopicOptions(
      partitions: Int(body.little(UInt32.self, at: 16)),
      segmentBytes: Int(truncatingIfNeeded: body.little(Int64.self, at: 24)),
      segmentAge: optional(body.little(Int64.self, at: 32)).map { .microseconds($0) },
      retentionBytes: optional(body.little(Int64.self, at: 40)).map { Int($0) },
      retentionAge: optional(body.little(Int64.self, at: 48)).map { .microseconds($0) },
      maximumRecordBytes: Int(body.little(UInt32.self, at: 20)),
      timestamps: timestamps,
      compression: Compression(level: Int(body.little(UInt32.self, at: 60))),
      compaction: optional(body.little(Int64.self, at: 64)).map {
        Compaction(
          tombstoneDelay: .microseconds($0), minimumAge: .microseconds(unsafe body.little(Int64.self, at: 72)),
          dirtyRatio: Double(bitPattern: unsafe body.little(UInt64.self, at: 80)))
      },
      durability: Durability(encoded: body.little(Int64.self, at: 88)))
  }
}

/// Catalogue values: version and checksum in front.
enum Sealed {
  static let version: UInt32 = 1

  static func wrap(_ body: borrowing ByteBuffer) -> [UInt8] {
    var whole = ByteBuffer(capacity: body.count + 8)
    whole.append(version)
    whole.append(unsafe CRC32C.checksum(body.bytes))
    unsafe whole.append(body.bytes)
    return whole.array
  }

  static func unwrap(
    _ bytes: UnsafeRawBufferPointer, atLeast count: Int, _ what: String, path: String
  ) throws(EventLogError) -> UnsafeRawBufferPointer {
    guard bytes.count >= 8 else { throw EventLogError(.damaged, "the entry of \(what) is too short", path: path) }
    let found = unsafe bytes.little(UInt32.self, at: 0)
    guard found == version else {
      throw EventLogError(
        .unsupportedFormat, "the entry of \(what) has format \(found), this library reads \(version); upgrade it",
        path: path)
    }
    let body = unsafe bytes.slice(8, bytes.count - 8)
    guard body.count >= count, unsafe CRC32C.checksum(body) == bytes.little(UInt32.self, at: 4) else {
      throw EventLogError(
        .damaged, "the entry of \(what) does not match its checksum; restore the catalogue from a backup", path: path)
    }
    return unsafe body
  }
}
