import Foundation
import Millrace
import Synchronization

/// An amount for a key: 16 bytes, as the peers' tuples of two numbers.
struct AmountEvent: Record {
  var key: UInt64
  var amount: Int64
}

/// Keyed state: running sums from a durable topic with exactly-once checkpoints.
enum StateScenarios {
  static let keyedSum = Scenario(
    name: "keyed-sum", summary: "running sum per key, 1 M uniform keys, from a topic, checkpoint-ms=1000 (or 50)",
    defaultSize: 10_000_000
  ) { options in
    let keys = options.integer("keys", 1_000_000)
    let interval = options.integer("checkpoint-ms", 1000)
    let parallelism = options.integer("parallelism", 1)
    let store = try Store.open(at: options.folder + "/store")
    let topic = try amounts(store, partitions: options.integer("partitions", parallelism))
    try fill(topic, options.size, keys: keys)
    let sink = CountSink()
    let job = try sumJob(topic, sink)
    let runner = try store.runner(
      for: job,
      RunOptions(mode: .toEnd, parallelism: parallelism, checkpoints: .every(.milliseconds(interval))))
    let watch = Stopwatch()
    try await store.run(runner)
    var measurement = watch.measurement(
      "keyed-sum", events: options.size,
      settings: [
        "keys": "\(keys)", "checkpointMilliseconds": "\(interval)", "parallelism": "\(parallelism)",
        "source": "durable topic", "durability": "every checkpoint synced",
      ],
      facts: ["out": "\(sink.count.load(ordering: .relaxed))", "sum": "\(sink.sum.load(ordering: .relaxed))"])
    if let metrics = runner.metrics { measurement.facts["checkpoints"] = "\(metrics.checkpoints.count)" }
    return measurement
  }

  static func amounts(_ store: Store, partitions: Int) throws -> Topic<AmountEvent> {
    try store.topic("amounts", of: AmountEvent.self, key: \.key, partitions: partitions)
  }

  /// Appends `count` events over `keys` keys, the same for every run.
  static func fill(_ topic: Topic<AmountEvent>, _ count: Int, keys: Int, from first: Int = 0) throws {
    var appender = try topic.makeAppender(recordsPerBatch: 4000)
    for index in first..<first + count {
      let mixed = SplitMix64.mix(UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
      try appender.append(AmountEvent(key: mixed % UInt64(keys), amount: Int64(mixed & 1023) + 1))
    }
    try appender.flushBlocking()
  }

  static func sumJob(_ topic: Topic<AmountEvent>, _ sink: CountSink) throws -> Job {
    try Job("keyed-sum") { flow in
      flow.from(topic).keyed()
        .fold("sum", initial: Int64(0)) { sum, event in sum &+= event.amount }
        .sink(sink)
    }
  }
}
