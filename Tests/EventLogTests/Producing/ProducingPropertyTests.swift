import Bytes
import LMDB
import Synchronization
import Testing

@testable import EventLog

/// Every way in at random, from several tasks, with commits that fail and segments that fill: in the end the log holds
/// exactly what was acknowledged, where that was said to be, once, and in its order.
@Suite struct ProducingPropertyTests {
  static let partitions = 3

  /// Runs delays at once, on a thread of its own.
  private final class NoDelay: DelayScheduler {
    private let thread = PinnedThread(name: "no-delay")
    func after(nanoseconds: Int, _ job: @escaping @Sendable () -> Void) { if !thread.async(job) { job() } }
    func stop() { thread.stop() }
  }

  /// What became of the values that were appended: each is unique.
  private final class Ledger: Sendable {
    struct State {
      var acknowledged: [String: LogPosition] = [:]
      var refused: Set<String> = []
      /// Sent without waiting.
      var sent: Set<String> = []
      /// Whether a flush told of a failure: some of what was sent is not there.
      var hasLost = false
      /// Per partition, what one task appended one behind the other.
      var orders: [[[String]]] = []
    }
    let state = Mutex(State())

    func acknowledge(_ records: [NewRecord], _ positions: [LogPosition]) {
      state.withLock { state in
        for (record, position) in zip(records, positions) { state.acknowledged[record.text] = position }
      }
    }
    func refuse(_ records: [NewRecord]) { state.withLock { $0.refused.formUnion(records.map(\.text)) } }
  }

  private struct Worker {
    let task: Int
    let topic: LogTopic
    let ledger: Ledger
    let faults: Faults
    let named: IdempotentProducer
    var random: SeededGenerator
    var number = 0
    var sequence: Int64 = 0
    var order = Array(repeating: [String](), count: ProducingPropertyTests.partitions)
    /// The last idempotent append that succeeded.
    var last: (records: [NewRecord], sequence: Int64, first: Int64)?

    mutating func newRecord() -> NewRecord {
      number += 1
      let value =
        "\(task).\(number)" + String(repeating: " ", count: [0, 20, 900][Int.random(in: 0..<3, using: &random)])
      let key = Int.random(in: 0..<5, using: &random)
      return NewRecord(
        key: key == 0 ? nil : Array("\(key)".utf8), value: Array(value.utf8),
        timestamp: Timestamp(microseconds: Int64.random(in: -9...9, using: &random)),
        headers: key == 1 ? [LogHeader("h", [1])] : [])
    }

    mutating func newRecords(_ most: Int) -> [NewRecord] {
      let count = Int.random(in: 1...most, using: &random)
      return (0..<count).map { _ in newRecord() }
    }

    mutating func finish(_ records: [NewRecord], _ result: Result<[LogPosition], any Error>, _ place: String)
      -> EventLogError?
    {
      switch result {
      case .success(let positions):
        #expect(positions.count == records.count, "\(place)")
        ledger.acknowledge(records, positions)
        for (record, position) in zip(records, positions) { order[position.partition].append(record.text) }
        return nil
      case .failure(let error):
        ledger.refuse(records)
        #expect(error is EventLogError, "\(place): \(error)")
        return error as? EventLogError
      }
    }

    mutating func step(_ place: String) async {
      let partition = Int.random(in: 0..<ProducingPropertyTests.partitions, using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        let record = newRecord()
        let result = await catching {
          [
            try await topic.append(
              key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers)
          ]
        }
        _ = finish([record], result, place)
      case 1...3:
        let records = newRecords(40)
        _ = finish(records, await catching { try await topic.append(contentsOf: records) }, place)
      case 4...5: await expecting(partition, place)
      case 6:
        let records = newRecords(10)
        let result = await catching { try await named.append(contentsOf: records) }
        let error = finish(records, result, place)
        #expect(error == nil || error?.isRetriable == true, "\(place): \(String(describing: error))")
      case 7...8: await idempotent(place)
      case 9:
        let record = newRecord()
        _ = ledger.state.withLock { $0.sent.insert(record.text) }
        try? await topic.send(
          key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers)
      case 10:
        do { try await topic.flush() } catch { ledger.state.withLock { $0.hasLost = true } }
      default: faults.fail(Int.random(in: 1...2, using: &random))
      }
    }

    private mutating func expecting(_ partition: Int, _ place: String) async {
      let guess = ((try? topic.endOffset(partition)) ?? 0) + Int64.random(in: 0...3, using: &random) / 3
      let records = newRecords(20)
      let result = await catching {
        try await topic.append(contentsOf: records, partition: partition, expecting: guess)
      }
      let error = finish(records, result, place)
      if case .success(let positions) = result {
        #expect(positions.map(\.offset) == Array(guess..<guess + Int64(records.count)), "\(place)")
      } else if error?.code == .unexpectedOffset {
        #expect(error?.actualOffset != guess && error?.partition == partition, "\(place)")
      } else {
        #expect(error?.isRetriable == true, "\(place): \(String(describing: error))")
      }
    }

    /// Numbers by itself, to partition 0, tries again until it succeeds, and repeats itself now and then.
    private mutating func idempotent(_ place: String) async {
      let id = ProducerID(id: UInt64(task) + 1, epoch: 0)
      if let last, Bool.random(using: &random) {
        let again = await catching {
          try await topic.appendIdempotent(last.records, partition: 0, producer: id, sequence: last.sequence)
        }
        if case .success(let result) = again {
          #expect(result.repeated == last.records.count && result.positions.isEmpty, "\(place)")
          #expect(result.repeatedPositions == last.first..<last.first + Int64(last.records.count), "\(place)")
        }
      }
      let records = newRecords(15)
      let sequence = sequence
      while true {
        let result = await catching {
          try await topic.appendIdempotent(records, partition: 0, producer: id, sequence: sequence)
        }
        guard case .success(let result) = result else { continue }
        let positions = result.positions.map { LogPosition(partition: 0, offset: $0) }
        #expect(result.repeated == 0, "\(place)")
        _ = finish(records, .success(positions), place)
        last = (records, sequence, result.positions.lowerBound)
        self.sequence += Int64(records.count)
        return
      }
    }

    private func catching<R>(_ body: () async throws -> R) async -> Result<R, any Error> {
      do { return .success(try await body()) } catch { return .failure(error) }
    }
  }

  @Test(arguments: [1, 1, 4, 8]) func theLogHoldsWhatWasAcknowledgedAndNothingElse(tasks: Int) async throws {
    let (generator, seed) = SeededGenerator.fresh("ProducingPropertyTests")
    var random = generator
    let directory = TemporaryDirectory()
    let (ledger, faults) = (Ledger(), Faults())
    var options = LogOptions(
      maximumPendingBytes: [2048, 1 << 20][Int.random(in: 0..<2, using: &random)],
      batchBytes: [1024, 4096][Int.random(in: 0..<2, using: &random)],
      commitBytes: [1024, 50_000][Int.random(in: 0..<2, using: &random)],
      linger: [.zero, .milliseconds(1)][Int.random(in: 0..<2, using: &random)])
    options.segmentMapBytes = 1 << 20
    options.timer = NoDelay()
    options.fault = faults.hook
    let log = try EventLog.open(at: directory.path, options)
    let topic = try log.topic("t", TopicOptions(partitions: Self.partitions, segmentBytes: 1 << 30))
    let steps = 240 / tasks
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        let worker = Worker(
          task: task, topic: topic, ledger: ledger, faults: faults,
          named: try await topic.producer(named: "worker \(task)"),
          random: SeededGenerator(seed: seed &+ UInt64(task) &* 7919))
        group.addTask {
          var worker = worker
          for step in 0..<steps { await worker.step("seed \(seed) tasks \(tasks) task \(task) step \(step)") }
          let order = worker.order
          ledger.state.withLock { $0.orders.append(order) }
        }
      }
      try await group.waitForAll()
    }
    faults.fail(0)
    do { try await topic.flush() } catch { ledger.state.withLock { $0.hasLost = true } }
    try check(topic, ledger, "seed \(seed) tasks \(tasks)")
    #expect(try log.verify().isSound, "seed \(seed)")
    log.close()
    let again = try EventLog.open(at: directory.path)
    try check(try again.topic("t"), ledger, "seed \(seed) tasks \(tasks), opened again")
  }

  private func check(_ topic: LogTopic, _ ledger: Ledger, _ place: String) throws {
    let state = ledger.state.withLock { $0 }
    var found: [String: LogPosition] = [:]
    for partition in 0..<Self.partitions {
      for record in try topic.all(partition) {
        let text = record.value.split(separator: 0x20).first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        #expect(found[text] == nil, "\(text) twice, \(place)")
        found[text] = LogPosition(partition: partition, offset: record.offset)
      }
      for order in state.orders {
        let offsets = order[partition].compactMap { state.acknowledged[$0]?.offset }
        #expect(offsets == offsets.sorted(), "\(place)")
      }
    }
    for (text, position) in state.acknowledged { #expect(found[text] == position, "\(text), \(place)") }
    for text in state.refused { #expect(found[text] == nil, "\(text), \(place)") }
    if !state.hasLost { #expect(state.sent.allSatisfy { found[$0] != nil }, "\(place)") }
    #expect(Set(found.keys).isSubset(of: state.sent.union(state.acknowledged.keys)), "\(place)")
    #expect(state.acknowledged.count > 50, "\(place)")
  }
}

extension NewRecord {
  /// The value without what fills it up.
  fileprivate var text: String {
    value.split(separator: 0x20).first.map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
