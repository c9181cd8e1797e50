/// Where records go: called per batch, sealed at every barrier.
///
/// What a writer passes to `seal` is written in the checkpoint's transaction: exactly once. What it does in `write`
/// itself is repeated after a crash.
public protocol Sink<Element>: Sendable {
  associatedtype Element: Sendable
  associatedtype Writer: SinkWriter where Writer.Element == Element

  /// Unique in the job.
  var name: String { get }
  /// What this sink alone may write, as "view:products/bid"; two writers of one resource are refused.
  var ownedResources: [String] { get }
  /// A writer for one subtask, made on its thread.
  func open(_ context: OperatorContext) throws -> Writer
}

extension Sink {
  public var ownedResources: [String] { [] }
}

/// Takes one subtask's records, on its thread.
public protocol SinkWriter: AnyObject {
  associatedtype Element: Sendable
  /// Takes a batch; it must not wait for long.
  func write(_ batch: consuming Batch<Element>) throws
  /// Hands over what was taken since the last call, to be written in the checkpoint's transaction.
  func seal(epoch: UInt64) throws -> [any SealedPart]
  /// The epoch is durable. Called on the subtask's thread some time after.
  func committed(epoch: UInt64) throws
  /// The run is over.
  func close()
}

extension SinkWriter {
  public func seal(epoch: UInt64) throws -> [any SealedPart] { [] }
  public func committed(epoch: UInt64) throws {}
  public func close() {}
}
