import Bytes
import Dataflow
import Testing

/// Whole jobs against plain loops: random input, batch sizes, parallelism, interleavings, stops and crashes.
@Suite struct JobModelTests {
  struct Input: Sendable {
    var key: String
    var amount: Int64
    var time: Int64
  }

  private func input(_ random: inout Random, count: Int, keys: Int) -> [Input] {
    var time: Int64 = -50
    return (0..<count).map { _ in
      time += Int64.random(in: 0...3, using: &random)
      // Short and long keys, and the empty one.
      let number = Int.random(in: 0..<keys, using: &random)
      let key = number == 0 ? "" : number % 5 == 0 ? "a long key with a number in it: \(number)" : "k\(number)"
      return Input(key: key, amount: Int64.random(in: -5...9, using: &random), time: time)
    }
  }

  @Test(arguments: 0..<12) func foldsEqualAPlainLoop(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 1)
    let store = try TestStore()
    let partitions = Int.random(in: 1...4, using: &random)
    let source = MemorySource<Input>("input", partitions: partitions)
    let sink = CollectSink<String>("out")
    let all = input(&random, count: 300, keys: 30)
    // A key's records lie in one partition, as in a topic.
    for record in all {
      let partition = Int(record.key.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) } % UInt64(partitions))
      source.append(record, at: .at(record.time), key: Array(record.key.utf8), partition: partition)
    }
    let job = try Job("job") { flow in
      let events = flow.from(source).filter { $0.amount != 0 }
      events.keyed()
        .fold("sums", initial: Int64(0)) { $0 += $1.amount }
        .map { "sum \($0)" }.sink(sink)
    }
    try disturb(job, store, &random)
    var sums: [String: Int64] = [:]
    var expected: [String] = []
    for record in all where record.amount != 0 {
      sums[record.key, default: 0] += record.amount
      expected.append("sum \(sums[record.key, default: 0])")
    }
    #expect(sink.committed.sorted() == expected.sorted())
  }

  @Test(arguments: 0..<12) func windowsEqualAPlainLoop(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 100)
    let store = try TestStore()
    let partitions = Int.random(in: 1...4, using: &random)
    let test = try WindowJob(partitions: partitions)
    let all = input(&random, count: 300, keys: 12)
    // Times grow in every partition: nothing is late, however partitions are interleaved.
    for record in all {
      test.source.append(
        record.key, at: .at(record.time), partition: Int.random(in: 0..<partitions, using: &random))
    }
    try disturb(test.job, store, &random)
    var counts: [String: [Int64: Int64]] = [:]
    for record in all {
      let start = Int64((Double(record.time) / 10).rounded(.down)) * 10
      counts[record.key, default: [:]][start, default: 0] += 1
    }
    let expected = counts.flatMap { key, windows in
      windows.map { Fired(key: key, start: $0, end: $0 + 10, count: $1) }
    }
    #expect(test.results.committed.sorted() == expected.sorted())
    #expect(test.late.committed == [])
  }

  @Test(arguments: 0..<8) func twoExchangesAndAUnionEqualAPlainLoop(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 200)
    let store = try TestStore()
    let left = MemorySource<Input>("left", partitions: 2)
    let right = MemorySource<Input>("right", partitions: 3)
    let sink = CollectSink<Int64>("out")
    let totals = CollectSink<Int64>("total")
    let all = input(&random, count: 200, keys: 10)
    for (index, record) in all.enumerated() {
      if Bool.random(using: &random) {
        left.append(record, at: .at(record.time), partition: index % 2)
      } else {
        right.append(record, at: .at(record.time), partition: index % 3)
      }
    }
    let job = try Job("job") { flow in
      let (left, right) = (flow.from(left), flow.from(right))
      // A count per key, joined with what never went through an exchange, counted again by another key.
      let counts = left.union(right).keyed(by: \.key).fold("counts", initial: Int64(0)) { count, _ in count += 1 }
      counts.union(right.map { _ in -1 }).keyed(by: { $0 < 0 })
        .fold("totals", initial: Int64(0)) { total, _ in total += 1 }.sink(totals)
      counts.sink(sink)
    }
    try disturb(job, store, &random)
    var counts: [String: Int64] = [:]
    var expected: [Int64] = []
    for record in all {
      counts[record.key, default: 0] += 1
      expected.append(counts[record.key, default: 0])
    }
    #expect(sink.committed.sorted() == expected.sorted())
    let rights = try right.endPositions().reduce(0, +)
    #expect(totals.committed.sorted() == (Array(1...Int64(all.count)) + (rights > 0 ? Array(1...rights) : [])).sorted())
  }
}
