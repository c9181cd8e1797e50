/// Everything that the producers and readers of a log said, in order: what they began, and what they were told.
///
/// Lines of a child, each written before its call or after its return:
///
///     i OP KIND TOPIC PRODUCER FIRST COUNT    begins to append the records FIRST… of the producer, or flushes
///     a OP [PARTITION:OFFSET …]               acknowledged, with positions in the order of the records
///     x OP definite|unknown CODE              failed; definite: the log says that nothing of it was written
///     r READER TOPIC PARTITION OFFSET PRODUCER NUMBER    somebody read this record
public struct LogHistory: Sendable {
  public enum Kind: String, Sendable {
    /// One record. Several, all or none. Several that a repeat must not double.
    case append, group, idempotent
    /// Several, each on its own, to be flushed.
    case enqueue
    /// Everything that the producer enqueued in the topic before.
    case flush
  }

  public struct Operation: Sendable {
    public var kind: Kind
    public var topic: String
    public var producer: Int
    public var first: Int
    public var count: Int
    /// When it began, and when it was acknowledged, as indexes of lines; never if nil.
    public var began: Int
    public var acknowledged: Int?
    /// Partition and offset of each record, if they were told.
    public var positions: [Position] = []
    /// The log said that nothing of it was written.
    public var isRefused = false
    /// It failed, or a flush of it did: no later flush is about it.
    public var isAbandoned = false

    public var identities: [LogWorkload.Identity] {
      (first..<first + count).map { LogWorkload.Identity(producer, $0) }
    }
  }

  public struct Position: Hashable, Sendable {
    public var partition: Int
    public var offset: Int64

    public init(_ partition: Int, _ offset: Int64) {
      self.partition = partition
      self.offset = offset
    }
  }

  public struct Reading: Sendable {
    public var reader: String
    public var topic: String
    public var position: Position
    public var identity: LogWorkload.Identity
    public var line: Int
  }

  /// Every line, with its life, and the topic that it begins something in, reads, or was told something of.
  public private(set) var said: [(text: String, life: Int, topic: String?)] = []
  public private(set) var operations: [Operation] = []
  public private(set) var readings: [Reading] = []
  /// Lines that are no events: a child's last words, say.
  public private(set) var others: [String] = []
  /// By life and number of the child.
  private var indexes: [String: Int] = [:]
  private var lines = 0

  public init() {}

  /// Takes what a child said in its life number `life`.
  public mutating func add(_ said: [String], life: Int) { for line in said { add(line, life: life) } }

  public mutating func add(_ line: String, life: Int) {
    lines += 1
    let words = line.split(separator: " ").map(String.init)
    defer { said.append((line, life, topic(words, life))) }
    switch words.first {
    case "i" where words.count == 7: begin(words, life)
    case "a" where words.count >= 2: acknowledge(words, life)
    case "x" where words.count >= 4:
      fail(words, life)
    case "r" where words.count == 7:
      let numbers = words[3...].compactMap { Int($0) }
      guard numbers.count == 4 else { return }
      readings.append(
        Reading(
          reader: "\(life) \(words[1])", topic: words[2], position: Position(numbers[0], Int64(numbers[1])),
          identity: LogWorkload.Identity(numbers[2], numbers[3]), line: lines))
    default: others.append(line)
    }
  }

  private func topic(_ words: [String], _ life: Int) -> String? {
    switch words.first {
    case "i" where words.count == 7: words[3]
    case "r" where words.count == 7: words[2]
    case "a" where words.count >= 2, "x" where words.count >= 2:
      indexes["\(life) \(words[1])"].map { operations[$0].topic }
    default: nil
    }
  }

  private mutating func begin(_ words: [String], _ life: Int) {
    let numbers = words[4...].compactMap { Int($0) }
    guard let kind = Kind(rawValue: words[2]), numbers.count == 3 else { return }
    indexes["\(life) \(words[1])"] = operations.count
    operations.append(
      Operation(
        kind: kind, topic: words[3], producer: numbers[0], first: numbers[1], count: numbers[2], began: lines))
  }

  private mutating func acknowledge(_ words: [String], _ life: Int) {
    guard let index = indexes["\(life) \(words[1])"] else { return }
    operations[index].positions = words[2...].compactMap { text in
      let parts = text.split(separator: ":").compactMap { Int64($0) }
      return parts.count == 2 ? Position(Int(parts[0]), parts[1]) : nil
    }
    let flush = operations[index]
    if flush.kind == .enqueue { return }
    operations[index].acknowledged = lines
    for earlier in covered(by: flush) { operations[earlier].acknowledged = lines }
  }

  private mutating func fail(_ words: [String], _ life: Int) {
    guard let index = indexes["\(life) \(words[1])"] else { return }
    operations[index].isAbandoned = true
    switch operations[index].kind {
    // Of several that were accepted one by one some may be there.
    case .enqueue: break
    case .flush: for earlier in covered(by: operations[index]) { operations[earlier].isAbandoned = true }
    case .append, .group, .idempotent: operations[index].isRefused = words[2] == "definite"
    }
  }

  /// What is to be flushed by `flush`, if it is a flush.
  private func covered(by flush: Operation) -> [Int] {
    if flush.kind != .flush { return [] }
    return operations.indices.filter { index in
      let earlier = operations[index]
      return earlier.kind == .enqueue && earlier.producer == flush.producer && earlier.topic == flush.topic
        && earlier.acknowledged == nil && !earlier.isAbandoned && earlier.began < flush.began
    }
  }

  /// The first number of `producer` that was not acknowledged: where an idempotent producer goes on.
  public func nextNumber(of producer: Int) -> Int {
    operations.reduce(0) { next, operation in
      operation.producer == producer && operation.acknowledged != nil
        ? max(next, operation.first + operation.count) : next
    }
  }

  public var acknowledgedCount: Int {
    operations.reduce(0) { $0 + ($1.acknowledged != nil ? $1.count : 0) }
  }
}

/// What a log holds.
public struct LogContents: Sendable {
  public struct Found: Sendable {
    public var offset: Int64
    /// Nil if it names nobody.
    public var identity: LogWorkload.Identity?
    /// Whether all its bytes are those that were written.
    public var isIntact: Bool

    public init(_ offset: Int64, _ identity: LogWorkload.Identity?, isIntact: Bool = true) {
      self.offset = offset
      self.identity = identity
      self.isIntact = isIntact
    }
  }

  public struct Partition: Sendable {
    public var start: Int64 = 0
    public var end: Int64 = 0
    /// In order.
    public var records: [Found] = []
    /// What the log itself says cannot be read.
    public var damages: [Range<Int64>] = []

    public init(start: Int64 = 0, end: Int64 = 0, records: [Found] = [], damages: [Range<Int64>] = []) {
      self.start = start
      self.end = end
      self.records = records
      self.damages = damages
    }
  }

  public var topics: [String: [Partition]] = [:]

  public init() {}

  public var recordCount: Int { topics.values.joined().reduce(0) { $0 + $1.records.count } }
}
