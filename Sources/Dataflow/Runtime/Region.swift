import Bytes

/// The part of a subtask that a barrier passes at one moment: what must seal then, and where the barrier goes on to.
final class Region {
  private var participants: [(node: NodeID, participant: any CheckpointParticipant)] = []
  private var outlets: [any Outlet] = []
  /// What works without a batch, what lies downstream first.
  private var workers: [any RegionWorker] = []
  /// Event time of its operators.
  let times = OperatorTimes()
  /// The last epoch that this region sealed.
  var sealed: UInt64 = 0

  func add(_ participant: any CheckpointParticipant, of node: NodeID) { participants.append((node, participant)) }

  func add(_ outlet: any Outlet) { outlets.append(outlet) }

  func add(_ worker: any RegionWorker) { workers.append(worker) }

  func sortForwards() {
    // Stable, so that an operator's parts stay in the order in which they joined.
    let ordered = participants.enumerated().sorted {
      ($0.element.node, $0.offset) < ($1.element.node, $1.offset)
    }
    participants = ordered.map(\.element)
  }

  /// Whether a worker must have done something before another batch may come.
  var isFull: Bool { workers.contains { $0.isFull } }

  /// Whether a worker has something under way that a run to the end waits for.
  var isBusy: Bool { workers.contains { $0.isBusy } }

  var hasWorkers: Bool { !workers.isEmpty }

  /// Lets the workers work; returns whether one did, and when to come again.
  func work(at time: Timestamp) throws -> (worked: Bool, due: Timestamp?) {
    var worked = false
    var due: Timestamp?
    for worker in workers {
      if try worker.work(at: time) { worked = true }
      if let next = worker.due { due = min(due ?? next, next) }
    }
    return (worked, due)
  }

  /// Whether something that it feeds has no room: nothing should begin here.
  var isBlocked: Bool { outlets.contains { $0.isBlocked } }

  /// Whether a state of it holds more than it may until the next commit.
  var isOverBudget: Bool { participants.contains { $0.participant.isOverBudget } }

  /// Seals everybody and sends the barrier on.
  func seal(_ epoch: UInt64) throws -> [any SealedPart] {
    var parts: [any SealedPart] = []
    for entry in participants { parts += try entry.participant.seal(epoch: epoch) }
    for outlet in outlets { outlet.barrier(epoch) }
    sealed = epoch
    return parts
  }

  func committed(_ epoch: UInt64) throws {
    for entry in participants { try entry.participant.committed(epoch: epoch) }
  }

  /// Sends what has been held back long enough; returns when to come again.
  func flush(now: Int64) -> Int64? {
    var next: Int64?
    for outlet in outlets {
      guard let due = outlet.due else { continue }
      if due <= now { outlet.flush() } else { next = min(next ?? due, due) }
    }
    return next
  }

  func close() { for entry in participants { entry.participant.close() } }
}
