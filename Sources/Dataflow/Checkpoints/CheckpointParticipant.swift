/// Something on a subtask that keeps what a checkpoint must hold. All calls come on the subtask's thread.
public protocol CheckpointParticipant: AnyObject {
  /// The barrier is here: hands over everything since the last one and goes on with a fresh epoch.
  func seal(epoch: UInt64) throws -> [any SealedPart]
  /// Everything up to `epoch` is durable: what it holds may be forgotten. Epochs may be skipped.
  func committed(epoch: UInt64) throws
  /// Whether what it holds and cannot give up before the next commit exceeds its memory budget.
  var isOverBudget: Bool { get }
  /// The run is over.
  func close()
}

extension CheckpointParticipant {
  public func committed(epoch: UInt64) throws {}
  public var isOverBudget: Bool { false }
  public func close() {}
}
