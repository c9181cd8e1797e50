import Bytes
import CrashSupport
import EventLog
import Glibc

/// `log-read DIRECTORY SEED TOPIC NAME start|time`: reads a topic that another process writes, from the beginning or
/// from a record that it looked up by time, over all partitions, until it is killed; waits for the log and for the
/// topic if they are not there yet.
///
/// Says every record as in `LogHistory`, and `error …` for what may never be seen, which ends it: a gap, a record that
/// nobody wrote as it is, half of a group (see `LogWorkload`).
enum LogReaderChild {
  struct Broken: Error, CustomStringConvertible {
    var description: String
  }

  static func run(_ arguments: [String]) {
    guard arguments.count == 5, let seed = UInt64(arguments[1]),
      let topic = LogWorkload.topics.first(where: { $0.name == arguments[2] })
    else {
      Child.say("usage: log-read DIRECTORY SEED TOPIC NAME start|time")
      exit(64)
    }
    do {
      let log = try waitForLog(arguments[0])
      Child.say("opened")
      let open = try waitForTopic(log, topic.name)
      Child.say("found")
      try follow(open, topic, LogWorkload(seed: seed), name: arguments[3], byTime: arguments[4] == "time")
    } catch {
      Child.say("error \((error as? EventLogError).map { "\($0.code)" } ?? "untyped") \(error)")
      exit(1)
    }
  }

  private static func waitForLog(_ directory: String) throws -> EventLog {
    while true {
      do {
        return try EventLog.open(at: directory, LogOptions(access: .readOnly, pollInterval: .milliseconds(2)))
      } catch {
        if error.code != .notFound { throw error }
        usleep(1000)
      }
    }
  }

  private static func waitForTopic(_ log: EventLog, _ name: String) throws -> LogTopic {
    while true {
      do {
        return try log.topic(name)
      } catch {
        if error.code != .unknownTopic { throw error }
        usleep(1000)
      }
    }
  }

  private static func follow(
    _ open: LogTopic, _ topic: LogWorkload.Topic, _ workload: LogWorkload, name: String, byTime: Bool
  ) throws {
    var offsets: [Int: Int64] = [:]
    for partition in 0..<open.partitions {
      let start = try open.startOffset(partition)
      offsets[partition] = byTime ? try open.offset(forTimestamp: .min, partition: partition) ?? start : start
    }
    var next = offsets
    var reader = try open.reader(from: offsets)
    while true {
      do {
        try reader.read { batch in
          guard batch.firstOffset == next[batch.partition] ?? 0 else {
            throw Broken(description: "offset \(batch.firstOffset) where \(next[batch.partition] ?? 0) was due")
          }
          for record in batch {
            let found = workload.judge(LogWorkload.Record(record), at: record.offset, in: topic)
            guard let identity = found.identity, found.isIntact else {
              throw Broken(description: "wrong bytes at \(batch.partition):\(record.offset)")
            }
            Child.say(
              "r \(name) \(topic.name) \(batch.partition) \(record.offset) \(identity.producer) \(identity.number)")
          }
          next[batch.partition] = batch.lastOffset + 1
        }
      } catch let error as EventLogError where error.code == .offsetOutOfRange && topic.isRetained {
        // Retention was faster: from its start on, and never back.
        for partition in 0..<open.partitions {
          next[partition] = max(next[partition] ?? 0, try open.startOffset(partition))
        }
        reader = try open.reader(from: next)
        continue
      }
      _ = try reader.wait(timeout: .milliseconds(50))
    }
  }
}
