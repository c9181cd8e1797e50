/// A keyed state as a part of checkpoints.
@usableFromInline
final class StateParticipant<Value>: CheckpointParticipant {
  private let state: KeyedState<Value>

  @usableFromInline
  init(_ state: KeyedState<Value>) { self.state = state }

  @usableFromInline
  func seal(epoch: UInt64) throws -> [any SealedPart] { try state.seal().map { [$0] } ?? [] }

  @usableFromInline
  var isOverBudget: Bool { state.isOverBudget }

  @usableFromInline
  func committed(epoch: UInt64) throws { try state.noticeCommits() }
}

extension OperatorContext {
  /// A keyed state over `backing` that is sealed with every epoch.
  public func keyedState<Value>(over backing: any KeyedBacking<Value>) -> KeyedState<Value> {
    let state = KeyedState(backing: backing, memoryBudget: stateMemory)
    join(StateParticipant(state))
    return state
  }
}
