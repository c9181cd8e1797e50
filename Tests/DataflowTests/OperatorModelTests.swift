import Bytes
import Dataflow
import Records
import Testing

/// The smaller operators against plain loops, disturbed as whole jobs are.
@Suite struct OperatorModelTests {
  struct Event: Record, Hashable {
    var key: String
    var amount: Int64
    var time: Int64
  }

  struct Refused: Error {}

  private func events(_ random: inout Random, count: Int, keys: Int) -> [Event] {
    var time: Int64 = 0
    return (0..<count).map { _ in
      time += Int64.random(in: 0...3, using: &random)
      let number = Int.random(in: 0..<keys, using: &random)
      return Event(
        key: number % 5 == 4 ? "a long key with a number in it: \(number)" : "k\(number)",
        amount: Int64.random(in: -9...20, using: &random), time: time)
    }
  }

  /// A source whose keys lie in one partition each.
  private func source(_ events: [Event], partitions: Int) -> MemorySource<Event> {
    let source = MemorySource<Event>("events", partitions: partitions)
    for event in events {
      let partition = event.key.utf8.reduce(0) { $0 + Int($1) } % partitions
      source.append(event, at: .at(event.time), partition: partition)
    }
    return source
  }

  @Test(arguments: 0..<8) func distinctDeduplicateTopAndAggregateEqualPlainLoops(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 300)
    let store = try TestStore()
    let all = events(&random, count: 300, keys: 10)
    let source = source(all, partitions: Int.random(in: 1...3, using: &random))
    let (firsts, spaced) = (CollectSink<Event>("firsts"), CollectSink<Event>("spaced"))
    let (tops, bests) = (CollectSink<[Event]>("tops"), CollectSink<[Event]>("bests"))
    let means = CollectSink<Double>("means")
    let job = try Job("job") { flow in
      let keyed = flow.from(source).keyed(by: \.key)
      keyed.distinct("distinct").sink(firsts)
      keyed.deduplicate("deduplicate", within: .units(25)).sink(spaced)
      keyed.top(3, "top") { $0.amount }.sink(tops)
      keyed.top(4, "best", by: { $0.amount }, uniqueBy: { $0.time % 5 }).sink(bests)
      keyed.aggregate(
        "mean",
        Aggregation<Event, PartsModelTests.Mean, Double>(
          initial: .init(count: 0, total: 0),
          add: {
            $0.count += 1
            $0.total += $1.amount
            if $1.amount == 13 { throw Refused() }
          }, merge: { _, _ in }, result: { Double($0.total) / Double($0.count) }), onError: .skip
      ).sink(means)
    }
    try disturb(job, store, &random)
    var (seen, last) = (Set<String>(), [String: Int64]())
    var (top, best) = ([String: [Event]](), [String: [Event]]())
    var mean: [String: (Int64, Int64)] = [:]
    var expected = (firsts: [Event](), spaced: [Event](), tops: [[Event]](), bests: [[Event]](), means: [Double]())
    func insert(_ event: Event, _ ranking: inout [Event], _ limit: Int) -> Bool {
      let place = ranking.firstIndex { $0.amount < event.amount } ?? ranking.count
      if place >= limit { return false }
      ranking.insert(event, at: place)
      ranking = Array(ranking.prefix(limit))
      return true
    }
    for event in all {
      if seen.insert(event.key).inserted { expected.firsts.append(event) }
      if event.time >= (last[event.key] ?? -1000) + 25 {
        last[event.key] = event.time
        expected.spaced.append(event)
      }
      if insert(event, &top[event.key, default: []], 3) { expected.tops.append(top[event.key] ?? []) }
      let before = best[event.key] ?? []
      best[event.key] = before.filter { $0.time % 5 != event.time % 5 }
      let isIn = insert(event, &best[event.key, default: []], 4)
      if isIn || best[event.key] != before { expected.bests.append(best[event.key] ?? []) }
      if event.amount != 13 {
        let (count, total) = mean[event.key] ?? (0, 0)
        mean[event.key] = (count + 1, total + event.amount)
        expected.means.append(Double(total + event.amount) / Double(count + 1))
      }
    }
    func text(_ lists: [[Event]]) -> [String] { lists.map { "\($0)" }.sorted() }
    #expect(text([firsts.committed.sorted { $0.key < $1.key }]) == text([expected.firsts.sorted { $0.key < $1.key }]))
    #expect(text(spaced.committed.map { [$0] }) == text(expected.spaced.map { [$0] }))
    #expect(text(tops.committed) == text(expected.tops))
    #expect(text(bests.committed) == text(expected.bests))
    #expect(means.committed.sorted() == expected.means.sorted())
  }

  /// Two streams of two types count into states that they share; the counts at the end do not depend on who came first.
  @Test(arguments: 0..<10) func connectedStreamsShareTheirKeysStates(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 400)
    let store = try TestStore()
    let all = events(&random, count: 240, keys: 8)
    let left = source(all.filter { $0.amount % 2 == 0 }, partitions: 2)
    let right = MemorySource<String>("words", partitions: 3)
    for (index, event) in all.enumerated() where event.amount % 2 != 0 {
      right.append(event.key, at: .at(event.time), partition: index % 3)
    }
    let sink = CollectSink<String>("out")
    let failures = CollectSink<String>("failures")
    let dead = SideOutput<DeadLetter<Either<Event, String>>>("dead")
    let job = try Job("job") { flow in
      let events = flow.from(left).keyed(by: \.key)
      let words = flow.from(right).keyed(by: { $0 })
      events.connect(words).process(
        "both",
        with: { parts in
          (
            sum: parts.value("sum", of: Int64.self), words: parts.value("words", of: Int64.self)
          )
        }, emitting: String.self, onError: .deadLetter(dead),
        onLeft: { event, parts, call in
          parts.sum.update(default: 0) { $0 += event.amount }
          call.setTimer(at: .at(10_000))
          if event.amount == 6 { throw Refused() }
        },
        onRight: { _, parts, call in
          parts.words.update(default: 0) { $0 += 1 }
          call.setTimer(at: .at(10_000))
        },
        onTimer: { _, parts, call in
          call.emit("\(try call.key(as: String.self)): \(parts.sum.value ?? 0) \(parts.words.value ?? 0)")
        }
      ).sink(sink)
      flow.from(dead).map { "\($0.element.map { "\($0)" } ?? "")" }.sink(failures)
    }
    try disturb(job, store, &random)
    var totals: [String: (sum: Int64, words: Int64)] = [:]
    for event in all where event.amount != 6 {
      if event.amount % 2 == 0 {
        totals[event.key, default: (0, 0)].sum += event.amount
      } else {
        totals[event.key, default: (0, 0)].words += 1
      }
    }
    #expect(sink.committed.sorted() == totals.map { "\($0.key): \($0.value.sum) \($0.value.words)" }.sorted())
    let dropped = all.filter { $0.amount == 6 }.map { "\(Either<Event, String>.left($0))" }
    #expect(failures.committed.sorted() == dropped.sorted())
  }

  @Test func accumulatorsOfPartsAreMerged() throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Double>("out")
    for number: Int64 in 1...8 { source.append(number, at: .at(0)) }
    let job = try Job("job") { flow in
      flow.from(source).map { PartsModelTests.Mean(count: 2, total: $0) }.keyed(by: { $0.total % 2 })
        .merge("merged", PartsModelTests.mean).sink(sink)
    }
    try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(sink.committed == [0.5, 1, 1, 1.5, 1.5, 2, 2, 2.5])
  }

  @Test func samplesAndPeeksPassTheRestOn() throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let (sampled, peeked) = (CollectSink<Int64>("sampled"), CollectSink<Int64>("peeked"))
    for number: Int64 in 1...10 { source.append(number, at: .at(number)) }
    let seen = Seen()
    let job = try Job("job") { flow in
      let numbers = flow.from(source)
      numbers.sample(every: 3).sink(sampled)
      numbers.peek { number, time in seen.note(number, time) }.sink(peeked)
    }
    try JobRunner(
      job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, batchSize: 4)
    ).runBlocking()
    #expect(sampled.committed == [3, 6, 9])
    #expect(peeked.committed == Array(1...10))
    #expect(seen.numbers == Array(1...10))
  }
}
