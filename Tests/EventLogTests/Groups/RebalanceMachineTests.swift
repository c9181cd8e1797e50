import Testing

@testable import EventLog

@Suite("Rebalancing") struct RebalanceMachineTests {
  /// Plays the members: holds what is granted, releases when asked, at random moments.
  private struct Play {
    var machine: RebalanceMachine
    var had: [Int: RebalanceMachine.Grant] = [:]
    var log: [RebalanceMachine.Action] = []
    var nextMember: UInt64 = 1

    init(partitions: Int) { machine = RebalanceMachine(partitions: partitions) }

    mutating func take(_ actions: [RebalanceMachine.Action]) {
      log += actions
      for action in actions {
        switch action {
        case .grant(let partition, let grant):
          #expect(had[partition] == nil, "granted while another has it")
          had[partition] = grant
        case .revoke(let partition, let grant):
          #expect(had[partition]?.member == grant.member)
          #expect(had[partition]?.generation == grant.generation)
          had[partition]?.isRevoked = true
        }
      }
    }

    mutating func step(_ random: inout SeededGenerator) {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<3 where machine.members.count < 7:
        take(machine.join(nextMember))
        nextMember += 1
      case 3..<5:
        guard let member = machine.members.randomElement(using: &random) else { return }
        had = had.filter { $0.value.member != member }
        take(machine.leave(member))
      default:
        guard
          let (partition, grant) = had.filter({ $0.value.isRevoked }).sorted(by: { $0.key < $1.key })
            .randomElement(using: &random)
        else { return }
        had[partition] = nil
        take(machine.release(partition, generation: grant.generation))
      }
    }

    mutating func releaseAll() {
      while let (partition, grant) = had.first(where: { $0.value.isRevoked }) {
        had[partition] = nil
        take(machine.release(partition, generation: grant.generation))
      }
    }

    func check() {
      for (partition, grant) in machine.grants.enumerated() { #expect(had[partition] == grant) }
      var counts: [UInt64: Int] = [:]
      for member in machine.members { counts[member] = 0 }
      for target in machine.targets {
        #expect((target == nil) == machine.members.isEmpty)
        if let target { counts[target, default: -100] += 1 }
      }
      if let least = counts.values.min(), let most = counts.values.max() { #expect(most - least <= 1) }
    }
  }

  @Test func spreadsEvenlyAndNeverGivesAPartitionToTwo() {
    var (random, seed) = SeededGenerator.fresh("Rebalance")
    for round in 0..<300 {
      var play = Play(partitions: Int.random(in: 1...12, using: &random))
      for _ in 0..<60 {
        play.step(&random)
        play.check()
      }
      play.releaseAll()
      // Everything is where it should be, and nothing is asked back.
      #expect(play.machine.grants.map { $0?.member } == play.machine.targets, "seed \(seed), round \(round)")
      #expect(play.machine.grants.allSatisfy { $0?.isRevoked != true })
    }
  }

  @Test func movesAsLittleAsItCan() {
    var (random, seed) = SeededGenerator.fresh("Rebalance, moves")
    for _ in 0..<500 {
      let partitions = Int.random(in: 1...12, using: &random)
      var machine = RebalanceMachine(partitions: partitions)
      for member in 1...UInt64.random(in: 1...6, using: &random) { _ = machine.join(member) }
      let before = machine.targets
      let members = machine.members.count
      if Bool.random(using: &random) {
        _ = machine.join(99)
        // The new one gets its share, and nothing else moves.
        let moved = zip(before, machine.targets).count { $0 != $1 }
        #expect(moved == partitions / (members + 1), "seed \(seed)")
        #expect(zip(before, machine.targets).allSatisfy { $0 == $1 || $1 == 99 })
      } else if let gone = machine.members.randomElement(using: &random) {
        _ = machine.leave(gone)
        #expect(zip(before, machine.targets).allSatisfy { $0 == $1 || $0 == gone }, "seed \(seed)")
      }
    }
  }

  @Test func theSameCallsGiveTheSame() {
    func run(_ seed: UInt64) -> [RebalanceMachine.Action] {
      var random = SeededGenerator(seed: seed)
      var play = Play(partitions: 7)
      for _ in 0..<100 { play.step(&random) }
      return play.log
    }
    for seed in 0..<20 { #expect(run(UInt64(seed)) == run(UInt64(seed))) }
  }

  @Test func aRevokedPartitionIsGivenAgainInALaterGeneration() {
    var machine = RebalanceMachine(partitions: 2)
    _ = machine.join(1)
    #expect(machine.join(2) == [.revoke(partition: 1, .init(member: 1, generation: 1, isRevoked: true))])
    #expect(machine.isCurrent(1, member: 1, generation: 1))
    // The second goes before the first has let go: it comes back to the first, as a new grant.
    #expect(machine.leave(2).isEmpty)
    #expect(machine.release(1, generation: 1) == [.grant(partition: 1, .init(member: 1, generation: 3))])
    #expect(!machine.isCurrent(1, member: 1, generation: 1))
    #expect(machine.release(1, generation: 1).isEmpty)
    #expect(machine.isCurrent(1, member: 1, generation: 3))
  }
}
