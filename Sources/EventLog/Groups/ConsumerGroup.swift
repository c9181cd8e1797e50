import Synchronization

/// The consumer groups that this log holds now, by name.
final class GroupRegistry: Sendable {
  private struct State {
    var groups: [String: ConsumerGroup] = [:]
    var nextMember: UInt64 = 0
    var ending: EventLogError?
  }

  private let state = Mutex(State())

  /// Adds a member to the group called `name`, which is taken for this process with its first one.
  func join(
    _ name: String, _ topic: TopicState, _ options: SubscriptionOptions, _ wake: Wakeup
  ) throws(EventLogError) -> (ConsumerGroup, TopicGroup, UInt64) {
    let joined = state.withLock { state -> Result<(ConsumerGroup, TopicGroup, UInt64), EventLogError> in
      do throws(EventLogError) {
        if let ending = state.ending { throw ending }
        let group: ConsumerGroup
        if let known = state.groups[name] { group = known } else { group = try ConsumerGroup(name, topic.core) }
        let id = state.nextMember
        let shared: TopicGroup
        do throws(EventLogError) {
          shared = try group.topic(topic, options.clock)
        } catch {
          if state.groups[name] == nil { group.close(error) }
          throw error
        }
        state.nextMember += 1
        state.groups[name] = group
        shared.join(
          id,
          TopicGroup.Member(
            name: options.memberName ?? "member \(id)", wake: wake, revocationTimeout: options.revocationTimeout))
        return .success((group, shared, id))
      } catch {
        return .failure(error)
      }
    }
    return try joined.get()
  }

  /// Takes a member away; the last one ends the group's hold.
  func leave(_ group: ConsumerGroup, _ topic: TopicGroup, _ id: UInt64) {
    state.withLock { state in
      guard topic.leave(id) else { return }
      group.remove(topic)
      if group.isEmpty, state.groups[group.name] === group {
        state.groups[group.name] = nil
        group.close(EventLogError(.closed, "the group's last subscription was closed"))
      }
    }
  }

  /// The group, if this log holds it.
  func held(_ name: String) -> ConsumerGroup? { state.withLock { $0.groups[name] } }

  func close() {
    let error = EventLogError(.closed, "the log was closed")
    let groups = state.withLock { state in
      state.ending = state.ending ?? error
      defer { state.groups = [:] }
      return state.groups
    }
    for group in groups.values { group.close(error) }
  }
}

/// A consumer group that this process holds: its file and the topics that its members read.
final class ConsumerGroup: Sendable {
  let name: String
  private let store: GroupStore
  private let topics = Mutex<[UInt64: TopicGroup]>([:])

  init(_ name: String, _ core: LogCore) throws(EventLogError) {
    self.name = name
    store = try GroupStore(name, in: core.directory)
    do {
      // What was committed for a topic that was deleted is nobody's.
      try store.forget(allBut: Set(try core.catalog.load().topics.values.map(\.id)))
    } catch {
      store.close(error)
      throw error
    }
  }

  var isEmpty: Bool { topics.withLock { $0.isEmpty } }

  func topic(_ topic: TopicState, _ clock: GroupClock) throws(EventLogError) -> TopicGroup {
    if let known = topics.withLock({ $0[topic.id] }) { return known }
    let committed = try store.enter(topic: topic.id, named: topic.name)
    let made = TopicGroup(topic, store, committed, clock)
    topics.withLock { $0[topic.id] = made }
    return made
  }

  func known(_ topic: UInt64) -> TopicGroup? { topics.withLock { $0[topic] } }

  func remove(_ topic: TopicGroup) { topics.withLock { $0[topic.topic.id] = nil } }

  func close(_ error: EventLogError) {
    for topic in topics.withLock({ $0 }).values { topic.end(error) }
    store.close(error)
  }
}
