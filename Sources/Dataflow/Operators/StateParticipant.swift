/// A keyed state as a part of checkpoints.
@usableFromInline
final class StateParticipant<Value>: CheckpointParticipant {
  private let state: KeyedState<Value>
  private let name: String

  @usableFromInline
  init(_ state: KeyedState<Value>, name: String) {
    self.state = state
    self.name = name
  }

  @usableFromInline
  func seal(epoch: UInt64) throws -> [any SealedPart] {
    do {
      return try state.seal().map { [$0] } ?? []
    } catch let error as DataflowError {
      throw error
    } catch {
      throw DataflowError(.operatorFailed, name, "its state cannot be made part of a checkpoint", cause: error)
    }
  }

  @usableFromInline
  var isOverBudget: Bool { state.isOverBudget }

  @usableFromInline
  func committed(epoch: UInt64) throws { try state.noticeCommits() }
}

extension OperatorContext {
  /// A keyed state over `backing` that is sealed with every epoch.
  public func keyedState<Value>(over backing: any KeyedBacking<Value>) -> KeyedState<Value> {
    let state = KeyedState(backing: backing, memoryBudget: stateMemory)
    join(StateParticipant(state, name: name))
    return state
  }
}
