import Dataflow

/// Runs `job` to its end in attempts that stop, crash or change the number of subtasks at random; the same seed, the
/// same run.
func disturb(
  _ job: Job, _ store: TestStore, _ random: inout Random, clock: any RuntimeClock = ManualClock(),
  parallelism: [Int] = [1, 2, 3, 8], batchSize: ClosedRange<Int> = 1...40,
  each: (inout Random) throws -> Void = { _ in }
) throws {
  final class Turns {
    var random: Random
    init(_ random: Random) { self.random = random }
  }
  var attempts = 0
  while true {
    attempts += 1
    let options = RunOptions(
      mode: .drain, parallelism: parallelism.randomElement(using: &random) ?? 1,
      checkpoints: .everyRecords(Int.random(in: 1...60, using: &random)),
      batchSize: Int.random(in: batchSize, using: &random), queueLimit: Int.random(in: 1...100, using: &random),
      stateMemory: Bool.random(using: &random) ? 1 : 1 << 20, clock: clock)
    let turns = Turns(random)
    let driver: JobDriver
    do {
      driver = try JobDriver(job, checkpoints: store.checkpoints, options: options) {
        Int.random(in: 0..<$0, using: &turns.random)
      }
    } catch let error as DataflowError where error.code == .drained {
      // The last attempt crashed, or was stopped, when the last epoch was committed already.
      return
    }
    let steps = attempts > 12 ? Int.max : Int.random(in: 0..<200, using: &random)
    var step = 0
    while step < steps && !driver.isFinished {
      try driver.step()
      try each(&turns.random)
      step += 1
    }
    random = turns.random
    if driver.isFinished { return }
    if Bool.random(using: &random) { try driver.stop() } else { driver.crash() }
  }
}
