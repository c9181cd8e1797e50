import Bytes
import LMDB
import Synchronization

/// The file of a consumer group, and the thread that writes it: commits that wait go into one synced transaction.
///
/// | database | key | value |
/// |---|---|---|
/// | `settings` | `format` | u64, 1 |
/// | `topics` | topic id u64, big-endian | name in UTF-8 |
/// | `offsets` | topic id u64 ‖ partition u32, big-endian | `CommittedOffset` |
final class GroupStore: Sendable {
  static let databases = ["settings", "topics", "offsets"]
  static let format: UInt64 = 1

  /// What is to be written together: decided on the writing thread, told when it is durable.
  struct Request: Sendable {
    /// What to put, or why not.
    var decide: @Sendable () -> Result<[Int: CommittedOffset], EventLogError>
    var topic: UInt64
    /// Called on the writing thread.
    var done: @Sendable (Result<[Int: CommittedOffset], EventLogError>) -> Void
  }

  private struct State {
    var waiting: [Request] = []
    var refusal: EventLogError?
  }

  let group: String
  private let file: GroupFile
  private let lock: GroupLock
  private let thread: PinnedThread
  private let state = Mutex(State())

  /// Takes the group for this process and opens its file, creating it if it is not there.
  init(_ group: String, in log: String) throws(EventLogError) {
    self.group = group
    lock = try GroupLock.take(group, in: log)
    do {
      file = try GroupFile.open(group, in: log, isWritable: true)
    } catch {
      lock.release()
      throw error
    }
    thread = PinnedThread(name: "group-" + group)
  }

  /// What is committed in a topic. Notes the topic's name.
  func enter(topic: UInt64, named name: String) throws(EventLogError) -> [Int: CommittedOffset] {
    try file.name(topic, name)
    return try file.offsets(of: topic)
  }

  /// Forgets topics that are not there any more: their numbers are never used again.
  func forget(allBut topics: Set<UInt64>) throws(EventLogError) { try file.forget(allBut: topics) }

  /// Has `request` decided and written by the thread.
  func submit(_ request: Request) {
    let (isFirst, refusal) = state.withLock { state -> (Bool, EventLogError?) in
      if let refusal = state.refusal { return (false, refusal) }
      state.waiting.append(request)
      return (state.waiting.count == 1, nil)
    }
    if let refusal { return request.done(.failure(refusal)) }
    if isFirst { thread.async { self.writeWaiting() } }
  }

  private func writeWaiting() {
    let requests = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    let decisions = requests.map { $0.decide() }
    var failure: EventLogError?
    if decisions.contains(where: { (try? $0.get())?.isEmpty == false }) {
      do throws(EventLogError) {
        try file.write { transaction in
          for (request, decision) in zip(requests, decisions) {
            guard case .success(let offsets) = decision else { continue }
            for (partition, offset) in offsets {
              try file.put(topic: request.topic, partition: partition, offset, in: transaction)
            }
          }
        }
      } catch {
        failure = error
      }
    }
    for (request, decision) in zip(requests, decisions) {
      if let failure, case .success = decision { request.done(.failure(failure)) } else { request.done(decision) }
    }
  }

  /// Writes what waits, then ends the thread and lets go of the group.
  func close(_ reason: EventLogError) {
    state.withLock { $0.refusal = $0.refusal ?? reason }
    thread.stop()
    let left = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for request in left { request.done(.failure(reason)) }
    lock.release()
  }
}
