/// The number of a stream's origin in its flow; streams come after what they are made from.
@usableFromInline
typealias NodeID = Int

/// One operator of a flow, as written: what it is, what it reads and how a subtask makes its part of it.
@usableFromInline
struct Node: Sendable {
  enum Role: Sendable {
    /// Reads a source.
    case source(any SourceNode)
    /// Works on what one stream brings, in place.
    case fused
    /// Brings each record to the subtask that owns its key.
    case exchange
    /// Joins several streams.
    case merge
  }

  let id: NodeID
  let role: Role
  let description: OperatorDescription
  let inputs: [NodeID]
  /// Makes one subtask's part and connects it to its inputs; what reads it has been made before.
  let build: @Sendable (SubtaskBuilder) throws -> Void
}

/// What a flow is told about an operator: how it is named, what it keeps and what it owns.
public struct OperatorDescription: Sendable {
  /// What it does, in one word, as "map"; for messages and metrics.
  public var kind: String
  /// The user's name for it, unique in the job; compulsory where there is state.
  public var name: String?
  /// Whether the keys of its input are the keys of its output.
  public var keepsKeys: Bool
  /// Whether a stream may end here: a sink, or state that can be read.
  public var isTerminal: Bool
  /// The states it keeps in the store.
  public var states: [StateDeclaration]
  /// What only one operator of a store may write, as "view:products/bid".
  public var owned: [String]
  /// The side outputs that it writes, those of its error policy included.
  public var sides: [SidePort]

  public init(
    kind: String, name: String? = nil, keepsKeys: Bool = false, isTerminal: Bool = false,
    states: [StateDeclaration] = [], owned: [String] = [], sides: [SidePort] = []
  ) {
    self.kind = kind
    self.name = name
    self.keepsKeys = keepsKeys
    self.isTerminal = isTerminal
    self.states = states
    self.owned = owned
    self.sides = sides
  }
}

/// A named state of a job: what it is called in the store and what it holds.
public struct StateDeclaration: Sendable, Hashable {
  /// The kind of contents; a state never changes its kind.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// One value per key.
    public static let value = Kind(rawValue: "value")
    /// A value per window (or part of one) and key, in this order.
    public static let windows = Kind(rawValue: "windows by time")
    /// Records for which something asynchronous is under way.
    public static let pending = Kind(rawValue: "pending")
    /// A map that every subtask has.
    public static let broadcast = Kind(rawValue: "broadcast")
    /// Timers, by time and key.
    public static let timers = Kind(rawValue: "timers by time")
  }

  /// Unique in the job: the operator's name, or `operator/state`.
  public var name: String
  public var kind: Kind

  public init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }
}
