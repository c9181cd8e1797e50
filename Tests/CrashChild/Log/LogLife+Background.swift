import Bytes
import CrashSupport
import EventLog

extension LogLife {
  /// Seals, rolls, and removes, at random.
  func maintain(_ topics: Topics) async {
    var random = generator(1_000_003)
    while !Task.isCancelled && !isFailed {
      do {
        try await Task.sleep(for: .milliseconds(Int.random(in: 1...25, using: &random)))
        let choice = Int.random(in: 0..<6, using: &random)
        if choice == 0, let compacted = topics.first(where: { $0.0.isCompacted }) {
          _ = try await compacted.1.compact()
        } else if choice < 3 {
          try await topics[Int.random(in: 0..<topics.count, using: &random)].1.seal()
        } else {
          try await log.maintain()
        }
      } catch is CancellationError {
        return
      } catch {
        note(error)
      }
    }
  }

  /// Reads from the start on and tails; says some of what it is given. What it says is durable.
  func read(_ topic: (LogWorkload.Topic, LogTopic), _ name: String) async {
    do {
      var offsets: [Int: Int64] = [:]
      for (partition, range) in try topic.1.offsets().enumerated() { offsets[partition] = range.lowerBound }
      var count = 0
      for try await record in topic.1.records(from: offsets, tailing: true) {
        count += 1
        let found = workload.judge(LogWorkload.Record(record), at: record.offset, in: topic.0)
        guard let identity = found.identity, found.isIntact else {
          Child.say("r \(name) \(topic.0.name) \(record.partition) \(record.offset) -1 -1")
          continue
        }
        if count % 16 != 0 { continue }
        Child.say(
          "r \(name) \(topic.0.name) \(record.partition) \(record.offset) \(identity.producer) \(identity.number)")
      }
    } catch is CancellationError {
      return
    } catch {
      note(error)
    }
  }
}
