import Testing

@testable import EventLog

@Suite("Keyed delivery, as a model") struct DeliveryMachineTests {
  private enum Kind: CaseIterable { case plain, failing, crashing, rebalancing }

  private func step(_ model: inout DeliveryModel, _ kind: Kind, _ random: inout SeededGenerator) {
    let partition = Int.random(in: model.partitions.indices, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35: _ = model.read(partition)
    case 35..<60: _ = model.take()
    case 60..<85:
      guard let slot = model.running.keys.sorted().randomElement(using: &random) else { return }
      if kind == .failing, Bool.random(using: &random) {
        model.fail(slot, Double.random(in: 0..<1, using: &random))
      } else {
        model.finish(slot)
      }
    case 85..<93: model.commit()
    case 93..<97:
      model.now += .seconds(1)
      model.machine.wakeDue(model.now)
    default:
      if kind == .crashing { model.crash() }
      if kind == .rebalancing {
        if Bool.random(using: &random) { model.handOver(partition) } else { model.withdraw(partition) }
      }
    }
  }

  /// Everything else stands still: what is left must come to its end.
  private func runDown(_ model: inout DeliveryModel) {
    var turns = 0
    while !(model.isFinished && model.isCommitted) {
      for partition in model.partitions.indices {
        while model.read(partition) {}
      }
      while model.take() {}
      for slot in model.running.keys.sorted() { model.finish(slot) }
      model.now += .seconds(100)
      model.machine.wakeDue(model.now)
      model.commit()
      turns += 1
      if turns > 1000 {
        Issue.record("stuck, \(model.context)")
        return
      }
    }
  }

  @Test(arguments: 0..<4) func keepsOrderAndCommitsOnlyWhatIsFinished(kindNumber: Int) {
    let kind = Kind.allCases[kindNumber]
    var (random, seed) = SeededGenerator.fresh("DeliveryMachine \(kind)")
    for round in 0..<150 {
      var model = DeliveryModel(&random, context: "\(kind), seed \(seed), round \(round)")
      for _ in 0..<Int.random(in: 0..<400, using: &random) { step(&model, kind, &random) }
      runDown(&model)
      for (partition, reference) in model.partitions.enumerated() {
        for entry in reference.log {
          let times = model.handled[partition]?[entry.offset] ?? 0
          // Once without crashes; with them at least once, and again only what was not committed.
          if model.crashes == 0 && kind != .rebalancing {
            model.check(times == 1)
          } else {
            model.check(times >= 1)
          }
        }
      }
      #expect(model.machine.outstanding == 0 && model.machine.waitingBytes == 0, "\(model.context)")
      #expect(model.machine.running == 0)
    }
  }

  @Test func whatIsCommittedIsNeverRepeatedAfterACrash() {
    var (random, seed) = SeededGenerator.fresh("DeliveryMachine, repeats")
    for round in 0..<100 {
      var model = DeliveryModel(&random, context: "seed \(seed), round \(round)")
      for _ in 0..<200 { step(&model, .plain, &random) }
      model.commit()
      let before = model.handled
      let committed = model.partitions.map { reference in
        reference.log.map(\.offset).filter { $0 < reference.committed || reference.committedExtra.contains($0) }
      }
      model.crash()
      runDown(&model)
      for (partition, offsets) in committed.enumerated() {
        for offset in offsets {
          model.check(model.handled[partition]?[offset] == before[partition]?[offset])
        }
      }
    }
  }

  @Test func aSlowKeyStopsTheOthersOnlyAtTheBound() {
    let limits = DeliveryMachine.Limits(
      recordsAhead: 10, bytesAhead: 1000, waitingBytes: 1000, commitRecords: 100, retry: .none)
    var machine = DeliveryMachine(partitions: 1, limits: limits)
    machine.begin(0, generation: 1, at: 0, finished: OffsetRanges())
    var taken: [DeliveryMachine.Slot] = []
    for offset in 0..<Int64(10) {
      guard case .taken = machine.admit(0, offset: offset, bytes: 1, lane: UInt64(offset)) else {
        Issue.record("refused")
        return
      }
      if let slot = machine.take() { taken.append(slot) }
    }
    for slot in taken.dropFirst() { _ = machine.finish(slot) }
    #expect(machine.room(0) == 0)
    machine.waitForRoom(0)
    #expect(machine.commit(0)?.offset == 0)
    #expect(machine.commit(0)?.finished.ranges == [1..<10])
    #expect(machine.finish(taken[0]) == .read)
    #expect(machine.room(0) == 10)
    #expect(machine.commit(0)?.offset == 10)
  }

  @Test func delaysGrowUpToTheirMaximumAndVaryByTheJitter() {
    let retry = RetryPolicy(
      attempts: 9, initialDelay: .milliseconds(100), maximumDelay: .seconds(1), factor: 2, jitter: 0.5)
    let delays = (1...6).map { retry.delay(after: $0, random: 0) }
    #expect(delays == [100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) })
    #expect(retry.delay(after: 1, random: 0.5) == .milliseconds(75))
    #expect(retry.delay(after: 1_000_000_000, random: 1) == .milliseconds(500))
  }
}
