import AdsCore
import CrashSupport
import Millrace

/// One life of a program that feeds the ads example's topics and runs its job beside: goes on where the last life was
/// ended, wherever that was, until everything is fed and worked through.
struct AdsRun {
  var path: String
  var workload: AdsWorkload
  var parallelism = 1
  var seed: UInt64 = 0
  var checkpoints = CheckpointTrigger.every(.milliseconds(20))
  /// Makes segments roll every so often; in a new store only.
  var segmentAge: Duration? = .milliseconds(150)
  /// The most events that are appended at once.
  var groupSize = 24
  /// Told what happens: `opened`, `ack TOPIC NUMBER PARTITION:OFFSET …` with the place of the first event of the group
  /// among the topic's, `fed`, `done`.
  var say: @Sendable (String) -> Void = { _ in }

  /// Runs to the end, or throws what went wrong, the store closed again.
  func run() async throws {
    let ads = try open()
    defer { ads.store.close() }
    say("opened")
    try await finish(ads)
    say("done")
  }

  /// Opens the store, created if it is not there.
  func open() throws -> AdsStore {
    try makeTopics()
    return try AdsStore(at: path)
  }

  /// Feeds what is missing and runs the job to the end of everything.
  func finish(_ ads: AdsStore) async throws {
    if try isDrained(ads) { return }
    if try !isFed(ads) { try await feedBesideJob(ads) }
    say("fed")
    try await ads.store.run(try ads.materialize(), options(.drain))
  }

  /// The topics with small segments, which an existing topic keeps.
  private func makeTopics() throws {
    let store = try Store.open(at: path)
    defer { store.close() }
    for (name, partitions) in [("inventory", 4), ("campaigns", 1), ("purchases", 4), ("attributions", 4)] {
      _ = try store.log.topic(
        name, TopicOptions(partitions: partitions, segmentBytes: 1 << 20, segmentAge: segmentAge))
    }
  }

  private func isDrained(_ ads: AdsStore) throws -> Bool {
    try ads.store.jobs().contains { $0.status == .drained }
  }

  private func isFed(_ ads: AdsStore) throws -> Bool {
    try AdsWorkload.Topic.allCases.allSatisfy { try ads.count($0) == workload.numbers(of: $0).count }
  }

  private func options(_ mode: RunMode) -> RunOptions {
    RunOptions(mode: mode, parallelism: parallelism, checkpoints: checkpoints)
  }

  /// Feeds the topics side by side; the job runs as long and stops with a last checkpoint.
  private func feedBesideJob(_ ads: AdsStore) async throws {
    let runner = try ads.store.runner(for: try ads.materialize(), options(.unbounded))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = try await ads.store.run(runner) }
      for topic in AdsWorkload.Topic.allCases { group.addTask { try await feed(ads, topic) } }
      do {
        for _ in AdsWorkload.Topic.allCases { try await group.next() }
      } catch {
        runner.stop()
        throw error
      }
      runner.stop()
      try await group.waitForAll()
    }
  }

  /// Appends what is missing in `topic`, group by group; the next one only when the last one is acknowledged.
  private func feed(_ ads: AdsStore, _ topic: AdsWorkload.Topic) async throws {
    let numbers = workload.numbers(of: topic)
    var next = try ads.count(topic)
    var random = SeededRandom(seed: seed &+ UInt64(next))
    while next < numbers.count {
      // Half of them alone.
      let size = Bool.random(using: &random) ? 1 : Int.random(in: 1...groupSize, using: &random)
      let group = numbers[next..<min(next + size, numbers.count)]
      let positions = try await ads.log(topic)
        .append(contentsOf: try group.map { try ads.encoded(workload.events[$0]) })
      let places = positions.map { "\($0.partition):\($0.offset)" }.joined(separator: " ")
      say("ack \(topic.rawValue) \(next) \(places)")
      next += group.count
    }
  }
}
