/// What the producers of the log's crash tests write: every record follows from the seed, its producer and its number,
/// so whoever finds it knows what it must look like.
public struct LogWorkload: Sendable {
  /// Who wrote a record, and as the how manieth of its own.
  public struct Identity: Hashable, Sendable, Comparable {
    public var producer: Int
    public var number: Int

    public init(_ producer: Int, _ number: Int) {
      self.producer = producer
      self.number = number
    }

    public static func < (left: Identity, right: Identity) -> Bool {
      (left.producer, left.number) < (right.producer, right.number)
    }
  }

  public struct Record: Equatable, Sendable {
    public var key: [UInt8]?
    public var value: [UInt8]
    public var microseconds: Int64
    public var headers: [(name: String, value: [UInt8])]

    public init(
      key: [UInt8]?, value: [UInt8], microseconds: Int64, headers: [(name: String, value: [UInt8])]
    ) {
      self.key = key
      self.value = value
      self.microseconds = microseconds
      self.headers = headers
    }

    public static func == (left: Record, right: Record) -> Bool {
      left.key == right.key && left.value == right.value && left.microseconds == right.microseconds
        && left.headers.elementsEqual(right.headers) { $0.name == $1.name && $0.value == $1.value }
    }
  }

  /// A topic, and what may become of records in it besides being there.
  public struct Topic: Sendable {
    public var name: String
    public var partitions: Int
    /// Its oldest records may be gone.
    public var isRetained = false
    /// Records whose key came again may be gone; empty values of keyed records are tombstones.
    public var isCompacted = false
    /// A crash of the machine may take the last ones, even if acknowledged.
    public var mayLoseTail = false

    public init(
      _ name: String, partitions: Int, isRetained: Bool = false, isCompacted: Bool = false, mayLoseTail: Bool = false
    ) {
      self.name = name
      self.partitions = partitions
      self.isRetained = isRetained
      self.isCompacted = isCompacted
      self.mayLoseTail = mayLoseTail
    }
  }

  public static let topics = [
    Topic("plain", partitions: 1), Topic("spread", partitions: 3), Topic("retained", partitions: 2, isRetained: true),
    Topic("compacted", partitions: 2, isCompacted: true), Topic("lazy", partitions: 2, mayLoseTail: true),
  ]

  public let seed: UInt64

  public init(seed: UInt64) { self.seed = seed }

  /// The record `identity` of a topic.
  public func record(_ identity: Identity, in topic: Topic) -> Record {
    var random = SeededRandom(
      seed: seed &+ UInt64(truncatingIfNeeded: identity.producer) &* 0x9E37_79B9 &+ UInt64(identity.number) &* 0x1_0003)
    let choice = Int.random(in: 0..<16, using: &random)
    let key: [UInt8]? = choice < 3 ? nil : choice == 3 ? [] : Array("key \(choice)".utf8)
    var size = Int.random(in: 0..<200, using: &random)
    switch Int.random(in: 0..<300, using: &random) {
    case 0: size = Int.random(in: 20_000..<70_000, using: &random)
    case 1..<12: size = Int.random(in: 200..<5000, using: &random)
    default: break
    }
    var value = Self.bytes(of: identity)
    var word = random.next()
    for index in 0..<size {
      if index % 8 == 0 { word = random.next() }
      // Runs of equal bytes, so that compression has something to do.
      value.append(UInt8(truncatingIfNeeded: word >> UInt64(index % 8 / 4)))
    }
    var headers: [(name: String, value: [UInt8])] = []
    for index in 0..<max(0, Int.random(in: 0..<7, using: &random) - 4) {
      headers.append(("h\(index)", [UInt8](repeating: UInt8(truncatingIfNeeded: word), count: size % 40)))
    }
    if topic.isCompacted && key != nil && identity.number % 6 == 5 {
      // Nobody could tell whose tombstone it is by its value.
      headers.append(("id", Self.bytes(of: identity)))
      value = []
    }
    return Record(
      key: key, value: value, microseconds: Int64(identity.number) * 1000 + Int64(choice) * 300_000, headers: headers)
  }

  /// Whose record this says it is.
  public static func identity(of record: Record) -> Identity? {
    var bytes = record.value[...]
    if bytes.isEmpty { bytes = record.headers.last { $0.name == "id" }?.value[...] ?? [] }
    guard bytes.count >= 16 else { return nil }
    func number(_ part: ArraySlice<UInt8>) -> Int {
      Int(truncatingIfNeeded: part.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    return Identity(number(bytes.prefix(8)), number(bytes.dropFirst(8).prefix(8)))
  }

  private static func bytes(of identity: Identity) -> [UInt8] {
    [identity.producer, identity.number].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
  }
}
