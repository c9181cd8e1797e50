import Testing

@testable import Dataflow

/// The state machines alone.
@Suite struct DecisionTests {
  private func machine(_ trigger: CheckpointTrigger, parallelism: Int = 2, drains: Bool = false) -> EpochMachine {
    EpochMachine(parallelism: parallelism, trigger: trigger, drains: drains, epoch: 7, now: 0)
  }

  @Test func anEpochEndsWhenItsTimeHasComeAndSomethingHappened() {
    var machine = machine(.every(.units(10)))
    let answer1 = machine.begin(now: 9, activity: 1)
    #expect(answer1 == nil)
    #expect(machine.nextDue == 10)
    let answer2 = machine.begin(now: 10, activity: 0)
    #expect(answer2 == nil)
    #expect(machine.nextDue == 20)
    let answer3 = machine.begin(now: 20, activity: 1)
    #expect(answer3 == 8)
  }

  @Test func noBarrierFollowsBeforeAllHaveSealed() {
    var machine = machine(.everyRecords(5))
    let answer4 = machine.begin(now: 0, activity: 5)
    #expect(answer4 == 8)
    let answer5 = machine.begin(now: 0, activity: 50)
    #expect(answer5 == nil)
    let answer6 = machine.sealed()
    #expect(!answer6)
    let answer7 = machine.begin(now: 0, activity: 50)
    #expect(answer7 == nil)
    let answer8 = machine.sealed()
    #expect(answer8)
    let answer9 = machine.begin(now: 0, activity: 50)
    #expect(answer9 == 9)
  }

  @Test func atMostTwoSealedEpochsWait() {
    var machine = machine(.everyRecords(1), parallelism: 1)
    for epoch: UInt64 in [8, 9] {
      let answer10 = machine.begin(now: 0, activity: Int(epoch))
      #expect(answer10 == epoch)
      let answer11 = machine.sealed()
      #expect(answer11)
    }
    let answer12 = machine.begin(now: 0, activity: 100)
    #expect(answer12 == nil)
    #expect(machine.nextDue == .max)
    machine.commit(8)
    let answer13 = machine.begin(now: 0, activity: 100)
    #expect(answer13 == 10)
  }

  @Test func aStopEndsWithALastEpoch() {
    var machine = machine(.atEnd, parallelism: 1)
    machine.stop()
    let answer14 = machine.begin(now: 0, activity: 0)
    #expect(answer14 == 8)
    #expect(machine.end == .stop)
    let answer15 = machine.sealed()
    #expect(answer15)
    #expect(!machine.isFinished)
    machine.commit(8)
    #expect(machine.isFinished)
    let answer16 = machine.begin(now: 100, activity: 100)
    #expect(answer16 == nil)
  }

  @Test(arguments: [true, false]) func theSourcesEndDrainsOnlyIfAsked(drains: Bool) {
    var machine = machine(.atEnd, drains: drains)
    machine.exhaust(0)
    let answer17 = machine.begin(now: 0, activity: 0)
    #expect(answer17 == nil)
    machine.exhaust(1)
    machine.stop()
    let answer18 = machine.begin(now: 0, activity: 0)
    #expect(answer18 == 8)
    #expect(machine.end == (drains ? .drain : .stop))
  }

  @Test func aStopBeforeTheEndDoesNotDrain() {
    var machine = machine(.atEnd, drains: true)
    machine.exhaust(0)
    machine.stop()
    let answer19 = machine.begin(now: 0, activity: 0)
    #expect(answer19 == 8)
    machine.exhaust(1)
    #expect(machine.end == .stop)
  }

  @Test func restartsGiveUpGrowAndForget() {
    var none = RestartPolicy.State(.none)
    #expect(none.failed(afterRunning: 0) == nil)
    var fixed = RestartPolicy.State(.fixedDelay(.units(5), attempts: 2))
    let delays = (0..<3).map { _ in fixed.failed(afterRunning: 0) }
    #expect(delays == [5, 5, nil])
    var exponential = RestartPolicy.State(
      .exponential(initial: .units(10), factor: 2, maximum: .units(35), resetAfter: .units(1000)))
    let growing = (0..<4).map { _ in exponential.failed(afterRunning: 0) }
    #expect(growing == [10, 20, 35, 35])
    let anew = exponential.failed(afterRunning: 1000)
    #expect(anew == 10)
    #expect(exponential.restarts == 5)
  }

  @Test func chanceMovesDelaysWithinTheirJitter() {
    var state = RestartPolicy.State(
      .exponential(initial: .units(100), factor: 3, maximum: .units(1000), jitter: 0.5, attempts: 4))
    let delays = [0, 0.5, 1, 0.25, 0].map { state.failed(afterRunning: 0, chance: $0) }
    #expect(delays == [50, 300, 1350, 750, nil])
  }

  @Test func aFailureRateGivesUpWhenFailuresCrowd() {
    var state = RestartPolicy.State(.failureRate(atMost: 2, per: .units(100), backoff: .fixed(.units(5))))
    let delays = [0, 50, 101, 151, 152].map { state.failed(afterRunning: 0, at: $0) }
    // At 152 there were failures at 101 and 151 already.
    #expect(delays == [5, 5, 5, 5, nil])
  }
}

/// Memory: what cannot be evicted before a commit hurries the checkpoint and holds the input back.
@Suite struct MemoryTests {
  @Test(arguments: [1, 2]) func aSmallBudgetIsKeptByMoreCheckpoints(parallelism: Int) throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers", partitions: 2)
    for number in 0..<20_000 { source.append(Int64(number), at: .at(0), partition: number % 2) }
    let job = try Job("job") { flow in
      _ = flow.from(source).keyed(by: { $0 }).fold("sum", initial: Int64(0)) { $0 += $1 }
    }
    let driver = try JobDriver(
      job, checkpoints: store.checkpoints,
      options: RunOptions(
        mode: .toEnd, parallelism: parallelism, checkpoints: .atEnd, batchSize: 500, queueLimit: 500, stateMemory: 1))
    try driver.runUntilIdle()
    #expect(driver.isFinished)
    #expect(driver.metrics.checkpoints.count > 3)
    #expect(driver.metrics.named("sum")?.recordsIn == 20_000)
  }
}
