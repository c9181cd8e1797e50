import Bytes
import Dataflow
import Testing

@Suite struct KeyAndUnionTests {
  /// Delivers records without the keys that it was asked for.
  struct Keyless: Source {
    let name = "keyless"
    let partitionCount = 1
    func startPositions() throws -> [Int64] { [0] }
    func endPositions() throws -> [Int64] { [1] }
    func open(_ request: SourceRequest) throws -> Reader { Reader() }

    final class Reader: SourceReader {
      func poll(into output: inout SourceBatch<Int64>, limit: Int) throws {
        output.records.append(1, at: .at(0))
        output.advance(partition: 0, to: 1)
      }
    }
  }

  @Test(arguments: [1, 2]) func missingKeysAreAnErrorNotACrash(parallelism: Int) throws {
    let store = try TestStore()
    let job = try Job("job") { flow in _ = flow.from(Keyless()).keyed().fold("sum", initial: Int64(0)) { $0 += $1 } }
    #expect {
      try JobRunner(
        job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, parallelism: parallelism)
      ).runBlocking()
    } throws: {
      ($0 as? DataflowError)?.code == .notKeyed
    }
  }

  @Test(arguments: [1, 3]) func keysPassThroughWhatKeepsThem(parallelism: Int) throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<String>("out")
    for number in 1...6 { source.append(Int64(number), at: .at(0), key: number % 2 == 0 ? [] : Array("odd".utf8)) }
    let job = try Job("job") { flow in
      flow.from(source).filter { $0 != 3 }.flatMap { [$0, $0] }
        .keyed()
        .fold("sum", initial: { (key: String) in "\(key):" }) { text, number in text += "\(number)" }
        .keyed()
        .reduce("longest") { $0.utf8.count > $1.utf8.count ? $0 : $1 }
        .sink(sink)
    }
    try JobRunner(
      job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, parallelism: parallelism)
    ).runBlocking()
    #expect(sink.committed.filter { $0.hasPrefix("odd") }.last == "odd:1155")
    #expect(sink.committed.filter { $0.hasPrefix(":") }.last == ":224466")
  }

  @Test func aUnionWaitsForItsSlowestInput() throws {
    let store = try TestStore()
    let fast = MemorySource<String>("fast")
    let slow = MemorySource<String>("slow")
    let sink = CollectSink<Int64>("out")
    let job = try Job("job") { flow in
      flow.from(fast).union(flow.from(slow)).keyed(by: { $0 }).window(.tumbling(.units(10)))
        .aggregate("window", initial: Int64(0), { count, _ in count += 1 }, result: { (_: String, _, count) in count })
        .sink(sink)
    }
    let options = RunOptions(checkpoints: .everyRecords(1))
    fast.append("a", at: .at(1))
    fast.append("b", at: .at(50))
    slow.append("a", at: .at(2))
    let driver = try JobDriver(job, checkpoints: store.checkpoints, options: options)
    try driver.runUntilIdle()
    #expect(sink.committed == [])
    slow.append("b", at: .at(51))
    try driver.runUntilIdle()
    try driver.stop()
    #expect(sink.committed == [2])
  }

  @Test func aForkGivesEveryReaderEverything() throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sinks = (0..<3).map { CollectSink<Int64>("out\($0)") }
    let job = try Job("job") { flow in
      let numbers = flow.from(source)
      for sink in sinks { numbers.sink(sink) }
    }
    for number in 1...4 { source.append(Int64(number), at: .at(0)) }
    try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    for sink in sinks { #expect(sink.committed == [1, 2, 3, 4]) }
  }
}
