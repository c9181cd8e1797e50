import Bytes
import Dataflow
import Testing

@Suite struct RestartTests {
  struct Refused: Error {}

  /// A job whose record fails `failures` times, each a while after the last.
  private func run(_ policy: RestartPolicy, failures: Int, every pause: Int64) throws -> (Int, JobRunner) {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    source.append(1, at: .at(0))
    let clock = ManualClock()
    let attempts = Seen()
    let job = try Job("job") { flow in
      flow.from(source).forEach("work") { number in
        attempts.note(number, clock.time)
        clock.advance(by: .units(pause))
        if attempts.numbers.count <= failures { throw Refused() }
      }
    }
    let runner = JobRunner(
      job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, restart: policy, clock: clock))
    do {
      try runner.runBlocking()
      return (attempts.numbers.count, runner)
    } catch let error as DataflowError where error.code == .operatorFailed {
      return (attempts.numbers.count, runner)
    }
  }

  @Test func crowdedFailuresEndTheRunAndSpacedOnesDoNot() throws {
    let policy = RestartPolicy.failureRate(atMost: 3, per: .units(100), backoff: .fixed(.zero))
    let crowded = try run(policy, failures: 20, every: 10)
    #expect(crowded.0 == 4)
    #expect(crowded.1.metrics?.restarts == 3)
    let spaced = try run(policy, failures: 20, every: 40)
    #expect(spaced.0 == 21)
    #expect(spaced.1.metrics?.restarts == 20)
  }

  @Test func aRunThatWentWellForLongBeginsAnew() throws {
    let policy = RestartPolicy.exponential(
      initial: .zero, maximum: .zero, jitter: 0.3, resetAfter: .units(50), attempts: 2)
    #expect(try run(policy, failures: 10, every: 10).0 == 3)
    #expect(try run(policy, failures: 10, every: 50).0 == 11)
  }
}
