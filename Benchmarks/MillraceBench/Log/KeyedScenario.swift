import Millrace
import Synchronization

extension LogScenarios {
  static let keyed = Scenario(
    name: "log-keyed",
    summary: "ordered per key, different keys at once: forEach(maxConcurrent: 64); keys=10000 work-us=0 partitions=1",
    defaultSize: 200_000
  ) { options in
    let topic = try topic(options)
    let keys = UInt64(max(1, options.integer("keys", 10_000)))
    let work = options.integer("work-us", 0)
    let workers = max(1, options.integer("workers", 64))
    try fill(topic, options.size, keys: keys)
    let ledger = OrderLedger(keys: Int(keys))
    let subscription = try topic.subscribe(group: "bench", SubscriptionOptions(tailing: false))
    let watch = Stopwatch()
    try await subscription.forEach(maxConcurrent: workers) { record in
      let (key, number) = unsafe record.value.withUnsafeBytes { value in
        unsafe (value.loadUnaligned(as: UInt64.self), value.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      if work > 0 { try await Task.sleep(for: .microseconds(work)) }
      ledger.note(Int(key), Int(number))
    }
    let measurement = watch.measurement(
      "log-keyed", events: ledger.count,
      settings: [
        "recordBytes": "100", "keys": "\(keys)", "workers": "\(workers)", "partitions": "\(topic.partitions)",
        "workMicroseconds": "\(work)", "delivery": "at least once, commits of what is finished",
      ], facts: ["outOfOrder": "\(ledger.outOfOrder)"])
    await subscription.close()
    return measurement
  }

  /// Appends records of 100 bytes whose values say their key and how many of it came before.
  private static func fill(_ topic: LogTopic, _ count: Int, keys: UInt64) throws {
    var appender = try topic.makeAppender(recordsPerBatch: 1000)
    var random = SplitMix64(seed: 7)
    var numbers = [UInt64](repeating: 0, count: Int(keys))
    var words = [UInt64](repeating: 0, count: 12)
    for index in 0..<count {
      let key = random.next() % keys
      words[0] = key
      words[1] = numbers[Int(key)]
      numbers[Int(key)] += 1
      try unsafe words.withUnsafeBytes { bytes in
        try unsafe appender.append(
          key: UnsafeRawBufferPointer(rebasing: bytes[0..<8]), value: UnsafeRawBufferPointer(rebasing: bytes[0..<92]),
          timestamp: Timestamp(microseconds: Int64(index)))
      }
    }
    try appender.flushBlocking()
  }
}

/// Checks that the records of each key come in their order.
private final class OrderLedger: Sendable {
  private let state: Mutex<(next: [Int], count: Int, outOfOrder: Int)>

  init(keys: Int) { state = Mutex((Array(repeating: 0, count: keys), 0, 0)) }

  func note(_ key: Int, _ number: Int) {
    state.withLock { state in
      if state.next[key] != number { state.outOfOrder += 1 }
      state.next[key] = number + 1
      state.count += 1
    }
  }

  var count: Int { state.withLock { $0.count } }
  var outOfOrder: Int { state.withLock { $0.outOfOrder } }
}
