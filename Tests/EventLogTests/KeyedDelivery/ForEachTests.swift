import Bytes
import Synchronization
import Testing

@testable import EventLog

@Suite("Keyed delivery") struct ForEachTests {
  /// What bodies did, in the order in which they did it.
  final class Journal: Sendable {
    struct State {
      var begun: [Int64] = []
      var finished: [(key: [UInt8]?, offset: Int64)] = []
      var running: [[UInt8]: Int] = [:]
      var atOnce = 0
      var most = 0
    }
    let state = Mutex(State())

    func begin(_ record: OwnedRecord) {
      state.withLock { state in
        state.begun.append(record.offset)
        state.atOnce += 1
        state.most = max(state.most, state.atOnce)
        guard let key = record.key else { return }
        state.running[key, default: 0] += 1
        #expect(state.running[key] == 1, "two of one key at once")
      }
    }

    func finish(_ record: OwnedRecord) {
      state.withLock { state in
        state.atOnce -= 1
        if let key = record.key { state.running[key, default: 0] -= 1 }
        state.finished.append((record.key, record.offset))
      }
    }

    var offsets: [Int64] { state.withLock { $0.finished.map(\.offset) } }
    func offsets(of key: String) -> [Int64] {
      state.withLock { $0.finished.filter { $0.key == Array(key.utf8) }.map(\.offset) }
    }
  }

  /// A gate that bodies wait at until it is opened.
  final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))
    var waiting: Int { state.withLock { $0.waiting.count } }

    func pass() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let waiting = state.withLock { state in
        state.isOpen = true
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  struct Failure: Error {}

  @Test(arguments: [1, 2, 64]) func keepsTheOrderOfEachKey(maxConcurrent: Int) async throws {
    let fixture = try GroupFixture(partitions: 3)
    try fixture.write(5000, keys: 40)
    let member = try fixture.member()
    let journal = Journal()
    var options = DeliveryOptions()
    options.maximumRecordsAhead = 100
    options.commitRecords = 50
    let counts = try await member.forEach(maxConcurrent: maxConcurrent, options) { record in
      journal.begin(record)
      await Task.yield()
      journal.finish(record)
    }
    #expect(counts.finished == 5000)
    for key in 0..<40 {
      let offsets = journal.offsets(of: "key \(key)")
      #expect(offsets.count == 125 && offsets == offsets.sorted())
    }
    #expect(journal.state.withLock { $0.most } <= maxConcurrent)
    #expect(try member.lag() == [0, 0, 0])
    // Nothing is left for the next time.
    #expect(try await member.forEach(maxConcurrent: 64) { _ in }.finished == 0)
  }

  @Test func keylessRecordsHaveAnOrderIfTheyAreToldTo() async throws {
    let fixture = try GroupFixture()
    try fixture.write(500)
    let journal = Journal()
    var options = DeliveryOptions()
    options.keyless = .partition
    try await fixture.member().forEach(options) { record in
      journal.begin(record)
      await Task.yield()
      journal.finish(record)
    }
    #expect(journal.offsets == Array(0..<500))
    #expect(journal.state.withLock { $0.most } == 1)
    let other = Journal()
    let gate = Gate()
    async let counts = fixture.member("other").forEach(maxConcurrent: 8) { record in
      other.begin(record)
      await gate.pass()
      other.finish(record)
    }
    while gate.waiting < 8 { await Task.yield() }
    gate.open()
    #expect(try await counts.finished == 500)
  }

  @Test func aSlowKeyStopsTheOthersAtTheBoundAndIsCommittedAround() async throws {
    let fixture = try GroupFixture()
    try fixture.write(1000, keys: 1000)
    let gate = Gate()
    let journal = Journal()
    var options = DeliveryOptions()
    options.maximumRecordsAhead = 100
    let member = try fixture.member()
    async let counts = member.forEach(options) { record in
      journal.begin(record)
      if record.offset == 7 { await gate.pass() }
      journal.finish(record)
    }
    // Offsets 0…6 are finished, and of those from 7 on the hundred that may be ahead, but one.
    while journal.offsets.count < 7 + 99 { await Task.yield() }
    for _ in 0..<1000 { await Task.yield() }
    #expect(journal.offsets.count == 7 + 99)
    gate.open()
    #expect(try await counts.finished == 1000)
    #expect(try member.lag() == [0])
  }

  @Test func theNextStartRepeatsOnlyWhatIsNotFinished() async throws {
    let fixture = try GroupFixture()
    try fixture.write(100, keys: 100)
    let member = try fixture.member()
    var options = DeliveryOptions(retry: .none)
    options.maximumRecordsAhead = 50
    let journal = Journal()
    let error = await failure {
      try await member.forEach(maxConcurrent: 64, options) { record in
        if record.offset == 20 {
          while journal.offsets.count < 40 { await Task.yield() }
          throw Failure()
        }
        journal.finish(record)
      }
    }
    #expect(error?.code == .recordFailed)
    #expect(error?.offset == 20)
    #expect(error?.underlying is Failure)
    await member.close()
    let group = try fixture.log.group("group")
    let partition = try #require(group.topics.first?.partitions.first)
    #expect(partition.committed == 20)
    #expect(partition.finished.count >= 20)
    #expect(partition.lag == 100 - Int64(journal.offsets.count))
    let counts = try await fixture.member().forEach(maxConcurrent: 64) { record in
      #expect(!journal.offsets.contains(record.offset), "repeated")
      journal.finish(record)
    }
    #expect(counts.known == Int(partition.finished.count))
    #expect(journal.offsets.sorted() == Array(0..<100))
  }

  @Test func anIterationPassesOverWhatIsFinished() async throws {
    let fixture = try GroupFixture()
    try fixture.write(30, keys: 30)
    let member = try fixture.member()
    _ = await failure {
      try await member.forEach(DeliveryOptions(retry: .none)) { record in
        if record.offset == 3 { throw Failure() }
      }
    }
    let finished = try #require(try fixture.log.group("group").topics.first?.partitions.first?.finished)
    await member.close()
    let rest = try await fixture.member().numbers()
    #expect(rest == (3..<30).filter { !finished.contains(Int64($0)) })
  }

  @Test func cancellingFinishesWhatRunsAndBeginsNothing() async throws {
    let fixture = try GroupFixture()
    try fixture.write(100, keys: 100)
    let member = try fixture.member { $0.tailing = true }
    let gate = Gate()
    let journal = Journal()
    let run = Task {
      try await member.forEach(maxConcurrent: 10) { record in
        journal.begin(record)
        await gate.pass()
        #expect(!Task.isCancelled)
        journal.finish(record)
      }
    }
    while gate.waiting < 10 { await Task.yield() }
    run.cancel()
    gate.open()
    #expect(try await run.value.finished == 10)
    #expect(journal.offsets.sorted() == Array(0..<10))
    #expect(member.committed(0) == 10)
  }

  @Test func closingDoesTheSame() async throws {
    let fixture = try GroupFixture()
    try fixture.write(100, keys: 100)
    let member = try fixture.member { $0.tailing = true }
    let gate = Gate()
    async let counts = member.forEach(maxConcurrent: 10) { _ in await gate.pass() }
    while gate.waiting < 10 { await Task.yield() }
    async let closing: Void = member.close()
    while !member.isClosing { await Task.yield() }
    gate.open()
    await closing
    #expect(try await counts.finished == 10)
    #expect(try fixture.log.group("group").topics.first?.partitions.first?.committed == 10)
    #expect(try fixture.log.group("group").holder == nil)
  }

  @Test func whatDoesNotFinishInTimeIsCancelledAndGivenAgain() async throws {
    let fixture = try GroupFixture()
    try fixture.write(3, keys: 3)
    let member = try fixture.member { $0.tailing = true }
    let started = Gate()
    let run = Task {
      try await member.forEach(DeliveryOptions(stopTimeout: .zero)) { record in
        if record.offset != 1 { return }
        started.open()
        try await Task.sleep(for: .seconds(1000))
      }
    }
    await started.pass()
    run.cancel()
    let counts = try await run.value
    #expect(counts.retries == 0)
    await member.close()
    let again = Journal()
    _ = try await fixture.member().forEach(maxConcurrent: 64) { again.finish($0) }
    #expect(again.offsets.contains(1) && !again.offsets.contains(0))
  }

  @Test func tailsAndWakesAtAppends() async throws {
    let fixture = try GroupFixture(partitions: 2)
    let member = try fixture.member { $0.tailing = true }
    let journal = Journal()
    let run = Task { try await member.forEach(maxConcurrent: 64) { journal.finish($0) } }
    for round in 1...20 {
      try fixture.write(5, from: round * 5, keys: 7)
      while journal.offsets.count < round * 5 { await Task.yield() }
    }
    await member.close()
    #expect(try await run.value.finished == 100)
  }

  @Test func twoConsumersOfOneSubscriptionAreRefused() async throws {
    let fixture = try GroupFixture()
    let member = try fixture.member { $0.tailing = true }
    let run = Task { try await member.forEach(maxConcurrent: 64) { _ in } }
    while member.committed(0) == nil { await Task.yield() }
    #expect(await failure { try await member.forEach(maxConcurrent: 64) { _ in } }?.code == .subscriptionInUse)
    #expect(await failure { try await member.forEach(maxConcurrent: 0) { _ in } }?.code == .invalidOptions)
    run.cancel()
    #expect(try await run.value.finished == 0)
  }
}
