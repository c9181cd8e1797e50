import Bytes
import Dataflow
import Testing

@Suite struct SideOutputTests {
  struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
  }

  private let source = MemorySource<Int64>("numbers")

  private func refusal(_ body: (Flow) -> Void) -> DataflowError? {
    do {
      _ = try Job("job", body)
      return nil
    } catch { return error as? DataflowError }
  }

  @Test func aRecordThatFailsGoesToTheDeadLettersWithItsReason() throws {
    let store = try TestStore()
    let results = CollectSink<Int64>("results")
    let letters = CollectSink<DeadLetter<Int64>>("letters")
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    for number: Int64 in 1...6 { source.append(number, at: .at(number * 10)) }
    let job = try Job("job") { flow in
      flow.from(source)
        .map("odd", onError: .deadLetter(dead)) { if $0 % 2 == 0 { throw Refused() } else { $0 } }
        .keyed(by: { $0 })
        .fold("sum", initial: Int64(0), onError: .deadLetter(dead)) { sum, number in
          sum += number
          if number == 5 { throw Refused() }
        }.sink(results)
      flow.from(dead).sink(letters)
    }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    try runner.runBlocking()
    #expect(results.committed == [1, 3])
    // In order as far as they come from one operator.
    let ofMap = letters.committed.filter { $0.operatorName == "odd" }
    let ofFold = letters.committed.filter { $0.operatorName == "sum" }
    #expect(letters.committed.count == 4)
    #expect(ofMap.map(\.element) == [2, 4, 6])
    #expect(ofMap.allSatisfy { $0.reason == "refused" && $0.job == "job" && $0.key == nil })
    #expect(ofMap.map(\.timestamp) == [.at(20), .at(40), .at(60)])
    #expect(
      ofFold == [
        DeadLetter(
          reason: "refused", operatorName: "sum", job: "job", element: 5, key: [0x80, 0, 0, 0, 0, 0, 0, 5],
          timestamp: .at(50))
      ])
    #expect(Set(letters.committedTimes) == [.at(20), .at(40), .at(60), .at(50)])
    #expect(runner.metrics?.named("odd")?.deadLettered == 3)
    #expect(runner.metrics?.named("sum")?.skipped == 0)
  }

  @Test func deadLettersAreKeyedAsTheirRecords() throws {
    let store = try TestStore()
    let letters = CollectSink<Int64>("letters")
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    for number: Int64 in 0..<20 { source.append(number, at: .at(0)) }
    let job = try Job("job") { flow in
      _ = flow.from(source).keyed(by: { $0 % 3 })
        .fold("sum", initial: Int64(0), onError: .deadLetter(dead)) { _, _ in throw Refused() }
      flow.from(dead).keyed().fold("count", initial: Int64(0)) { count, _ in count += 1 }.sink(letters)
    }
    try JobRunner(
      job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, parallelism: 2)
    ).runBlocking()
    let expected: [Int64] = [7, 7, 6].flatMap { Array(1...$0) }
    #expect(letters.committed.sorted() == expected.sorted())
  }

  @Test func aRecordGoesToTheFirstStreamThatTakesIt() throws {
    let store = try TestStore()
    let sinks = (0..<4).map { CollectSink<Int64>("sink \($0)") }
    let letters = CollectSink<Int64>("letters")
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    for number: Int64 in 1...12 { source.append(number, at: .at(0)) }
    let job = try Job("job") { flow in
      let parts = flow.from(source).split(
        "kinds", onError: .deadLetter(dead), { $0 % 2 == 0 }, { $0 % 3 == 0 },
        { if $0 == 11 { throw Refused() } else { $0 > 6 } })
      #expect(parts.count == 4)
      for (part, sink) in zip(parts, sinks) { part.sink(sink) }
      flow.from(dead).compactMap { $0.element }.sink(letters)
    }
    try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(sinks.map(\.committed) == [[2, 4, 6, 8, 10, 12], [3, 9], [7], [1, 5]])
    #expect(letters.committed == [11])
  }

  @Test func whatAFailingRecordSentAnywhereIsTakenBack() throws {
    let store = try TestStore()
    let results = CollectSink<String>("results")
    let (odd, big) = (SideOutput<Int64>("odd"), SideOutput<String>("big"))
    let (odds, bigs) = (CollectSink<Int64>("odds"), CollectSink<String>("bigs"))
    for number: Int64 in 1...10 { source.append(number, at: .at(number)) }
    let job = try Job("job") { flow in
      flow.from(source).expand(
        "spread", into: String.self, with: { (odd: $0.output(odd), big: $0.output(big)) }, onError: .skip
      ) { number, outputs, out in
        out.append("\(number)")
        if number % 2 == 1 { outputs.odd.emit(number) }
        if number > 6 { outputs.big.emit("big \(number)") }
        if number % 5 == 0 || number == 7 { throw Refused() }
        out.append("again \(number)")
      }.sink(results)
      flow.from(odd).sink(odds)
      flow.from(big).sink(bigs)
    }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, batchSize: 4))
    try runner.runBlocking()
    #expect(results.committed == [1, 2, 3, 4, 6, 8, 9].flatMap { ["\($0)", "again \($0)"] })
    #expect(odds.committed == [1, 3, 9])
    #expect(odds.committedTimes == [.at(1), .at(3), .at(9)])
    #expect(bigs.committed == ["big 8", "big 9"])
    #expect(runner.metrics?.named("spread")?.skipped == 3)
  }

  @Test func aSideOutputThatNobodyReadsIsRefused() {
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    let error = refusal { flow in
      flow.from(source).map(onError: .deadLetter(dead)) { $0 }.sink(CollectSink<Int64>("sink"))
    }
    #expect(error?.code == .noSink)
    #expect(error?.subject == "dead")
  }

  @Test func aSideOutputThatNobodyWritesIsRefused() {
    let error = refusal { flow in
      flow.from(source).sink(CollectSink<Int64>("sink"))
      flow.from(SideOutput<Int64>("nothing")).sink(CollectSink<Int64>("nothing"))
    }
    #expect(error?.code == .noSource)
    #expect(error?.subject == "nothing")
  }

  @Test func aSideOutputReadBeforeItsLastWriterIsRefused() {
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    let error = refusal { flow in
      let numbers = flow.from(source).map("one", onError: .deadLetter(dead)) { $0 }
      flow.from(dead).sink(CollectSink<DeadLetter<Int64>>("letters"))
      numbers.map("two", onError: .deadLetter(dead)) { $0 }.sink(CollectSink<Int64>("sink"))
    }
    #expect(error?.code == .noSink)
    #expect(error?.subject == "dead")
  }

  @Test func twoTypesUnderOneNameAreRefused() {
    let error = refusal { flow in
      flow.from(source)
        .map("one", onError: .deadLetter(SideOutput("dead"))) { "\($0)" }
        .map("two", onError: .deadLetter(SideOutput("dead"))) { $0 }.sink(CollectSink<String>("sink"))
      flow.from(SideOutput<DeadLetter<Int64>>("dead")).sink(CollectSink<DeadLetter<Int64>>("letters"))
    }
    #expect(error?.code == .duplicateName)
    #expect(error?.subject == "dead")
  }
}
