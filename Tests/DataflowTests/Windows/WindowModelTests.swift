import Bytes
import Dataflow
import Testing

/// Every kind of window against the plain model: random steps, stops, crashes, rescales.
@Suite struct WindowModelTests {
  /// As `==` of sorted arrays, with a message that shows what differs.
  private func expectSame(_ found: [Pane], _ expected: [Pane], _ what: String) {
    var missing = expected
    var extra: [Pane] = []
    for pane in found {
      if let index = missing.firstIndex(of: pane) { missing.remove(at: index) } else { extra.append(pane) }
    }
    #expect(missing.isEmpty && extra.isEmpty, "\(what): missing \(missing), too many \(extra)")
  }

  private func model(_ random: inout Random) -> WindowModel {
    let size = Int64.random(in: 3...20, using: &random)
    let shape: WindowModel.Shape =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: .tumbling(size: size, offset: Int64.random(in: 0..<size, using: &random))
      case 1:
        .sliding(
          size: size, slide: Int64.random(in: 1...size, using: &random), offset: Int64.random(in: 0...2, using: &random)
        )
      case 2: .cumulative(size: 24, step: [2, 4, 8, 24].randomElement(using: &random) ?? 4)
      case 3, 4: .session(gap: Int64.random(in: 1...8, using: &random))
      default: .count(Int.random(in: 1...5, using: &random))
      }
    if case .count = shape { return WindowModel(shape) }
    return WindowModel(
      shape, lateness: Bool.random(using: &random) ? 0 : Int64.random(in: 1...25, using: &random),
      isPurging: Int.random(in: 0..<3, using: &random) == 0,
      count: Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 1...4, using: &random) : nil)
  }

  /// Step by step with watermarks of its own, so that every lateness is met: one subtask, since batches on their way
  /// to another one let watermarks pass records.
  @Test(arguments: 0..<60) func eachStepEqualsTheModel(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 1)
    var model = model(&random)
    let isListed = Bool.random(using: &random)
    var (steps, now, mark): ([Step], Int64, Int64) = ([], -30, -60)
    for _ in 0..<250 {
      if Int.random(in: 0..<4, using: &random) == 0 {
        mark = max(mark, now - Int64.random(in: 0...10, using: &random))
        steps.append(.watermark(mark))
      } else {
        now += Int64.random(in: 0...3, using: &random)
        let back = Int.random(in: 0..<3, using: &random) == 0 ? Int64.random(in: 0...40, using: &random) : 0
        let key = ["a", "b", "", "a key that is longer than fifteen bytes"].randomElement(using: &random) ?? "a"
        steps.append(.record(now - back, key))
      }
    }
    let store = try TestStore()
    let chosen = model
    let test = try StepJob { chosen.apply(to: $0, isListed: isListed) }
    test.append(steps)
    try disturb(test.job, store, &random, parallelism: [1], batchSize: 1...1)
    for step in steps { model.take(step) }
    model.advance(to: .max)
    expectSame(test.results.committed, model.panes, "\(chosen.shape) listed: \(isListed)")
    #expect(test.late.committed.map(\.time) == model.late)
  }

  /// In any batches on any number of subtasks, as long as nothing is late.
  @Test(arguments: 0..<40) func onTimeRecordsGiveTheSameWindowsHoweverTheyCome(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 1000)
    var model = model(&random)
    let isListed = Bool.random(using: &random)
    let partitions = Int.random(in: 1...4, using: &random)
    let store = try TestStore()
    let chosen = model
    let test = try StepJob(partitions: partitions) { chosen.apply(to: $0, isListed: isListed) }
    var now: Int64 = -30
    for _ in 0..<250 {
      now += Int64.random(in: 0...3, using: &random)
      let number = Int.random(in: 0..<9, using: &random)
      let step = Step.record(now, number == 0 ? "" : "key \(number) of some length"[0..<(4 + number * 2)])
      // A key's records come from one partition; a mark of its own tells how far each partition is.
      test.append([step, .watermark(now - 1)], partition: number % partitions)
      model.take(step)
    }
    try disturb(test.job, store, &random)
    model.advance(to: .max)
    let counts = model.count != nil
    // Early firings depend on nothing but a key's order; firings at the end on nothing at all.
    let expected = model.panes.filter { counts || $0.kind == .onTime }
    expectSame(test.results.committed, expected, "\(chosen.shape) listed: \(isListed)")
    #expect(test.late.committed == [])
  }

  /// Early firings by time may come at any moment; what they show grows to what the end shows.
  @Test(arguments: 0..<12) func earlyFiringsGrowToTheLast(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 2000)
    let store = try TestStore()
    let every = Int64.random(in: 1...9, using: &random)
    let test = try StepJob { $0.window(.tumbling(.units(20))).firingEarly(every: .units(every)).times() }
    var now: Int64 = 0
    var expected: [String: [Int64: [Int64]]] = [:]
    for _ in 0..<200 {
      now += Int64.random(in: 0...3, using: &random)
      let key = "k\(Int.random(in: 0..<5, using: &random))"
      test.append([.record(now, key), .watermark(now - 1)])
      expected[key, default: [:]][now / 20 * 20, default: []].append(now)
    }
    try disturb(test.job, store, &random)
    let found = test.results.committed
    let ends = found.filter { $0.kind == .onTime }
    #expect(
      ends.sorted()
        == expected.flatMap { key, windows in windows.map { Pane(key, $0, $0 + 20, $1) } }.sorted())
    for pane in found where pane.kind == .early {
      let whole = expected[pane.key]?[pane.start] ?? []
      #expect(!pane.times.isEmpty && Array(whole.prefix(pane.times.count)) == pane.times)
    }
    #expect(found.allSatisfy { $0.kind != .late })
  }
}

extension String {
  fileprivate subscript(range: Range<Int>) -> String { String(prefix(range.upperBound)) }
}
