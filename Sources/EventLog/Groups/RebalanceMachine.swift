/// Who in a group has which partition of a topic: decides only, does nothing.
///
/// Partitions are spread evenly: no member has two more than another. Members keep what they have as far as that
/// allows, and the same calls in the same order give the same result. A partition changes hands in two steps: it is
/// revoked from the one that has it and given to the next when that one has released it. A revocation is never taken
/// back. Every grant has the number of the generation in which it was given: what comes with another is late.
struct RebalanceMachine: Sendable {
  typealias Member = UInt64

  struct Grant: Hashable, Sendable {
    var member: Member
    var generation: UInt64
    var isRevoked = false
  }

  enum Action: Hashable, Sendable {
    /// The member has the partition from now on.
    case grant(partition: Int, Grant)
    /// The member is asked to release the partition as soon as it can.
    case revoke(partition: Int, Grant)
  }

  /// In the order of their joining.
  private(set) var members: [Member] = []
  /// Grows with every member that joins or leaves.
  private(set) var generation: UInt64 = 0
  private(set) var grants: [Grant?]
  /// Who should have each partition; nil while there are no members.
  private(set) var targets: [Member?]

  init(partitions: Int) {
    grants = Array(repeating: nil, count: partitions)
    targets = Array(repeating: nil, count: partitions)
  }

  /// A new member; its number is above those of all before.
  mutating func join(_ member: Member) -> [Action] {
    guard !members.contains(member) else { return [] }
    members.append(member)
    return rebalance()
  }

  /// The member has gone, and all that it had is free.
  mutating func leave(_ member: Member) -> [Action] {
    guard let index = members.firstIndex(of: member) else { return [] }
    members.remove(at: index)
    for partition in grants.indices where grants[partition]?.member == member { grants[partition] = nil }
    return rebalance()
  }

  /// The member lets go of a partition that was revoked; or is made to, if it takes too long.
  mutating func release(_ partition: Int, generation: UInt64) -> [Action] {
    guard let grant = grants[partition], grant.generation == generation, grant.isRevoked else { return [] }
    grants[partition] = nil
    return grantFree()
  }

  /// Whether the holder of this grant still has the partition.
  func isCurrent(_ partition: Int, member: Member, generation: UInt64) -> Bool {
    guard grants.indices.contains(partition), let grant = grants[partition] else { return false }
    return grant.member == member && grant.generation == generation
  }

  private mutating func rebalance() -> [Action] {
    generation += 1
    retarget()
    var actions: [Action] = []
    for partition in grants.indices {
      guard var grant = grants[partition], grant.member != targets[partition], !grant.isRevoked else { continue }
      grant.isRevoked = true
      grants[partition] = grant
      actions.append(.revoke(partition: partition, grant))
    }
    return actions + grantFree()
  }

  private mutating func grantFree() -> [Action] {
    var actions: [Action] = []
    for partition in grants.indices where grants[partition] == nil {
      guard let member = targets[partition] else { continue }
      let grant = Grant(member: member, generation: generation)
      grants[partition] = grant
      actions.append(.grant(partition: partition, grant))
    }
    return actions
  }

  /// Moves as few targets as it takes to spread the partitions evenly.
  private mutating func retarget() {
    guard !members.isEmpty else {
      targets = Array(repeating: nil, count: targets.count)
      return
    }
    var held: [Member: Int] = [:]
    for case let target? in targets { held[target, default: 0] += 1 }
    // Those that have most keep the one that is left over, in doubt the oldest.
    let order = members.indices.sorted { left, right in
      let (first, second) = (held[members[left]] ?? 0, held[members[right]] ?? 0)
      return first != second ? first > second : left < right
    }
    var quota: [Member: Int] = [:]
    for (rank, index) in order.enumerated() {
      quota[members[index]] = targets.count / members.count + (rank < targets.count % members.count ? 1 : 0)
    }
    var free: [Int] = []
    for partition in targets.indices {
      if let member = targets[partition], let left = quota[member], left > 0 {
        quota[member] = left - 1
      } else {
        free.append(partition)
      }
    }
    var next = 0
    for member in members {
      for _ in 0..<(quota[member] ?? 0) where next < free.count {
        targets[free[next]] = member
        next += 1
      }
    }
  }
}
