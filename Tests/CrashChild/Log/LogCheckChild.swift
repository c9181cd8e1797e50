import CrashSupport
import EventLog
import Glibc

/// `log-check DIRECTORY SEED refuse|report`: opens a log that may be damaged and says what can be read of it, passing
/// over what cannot, and what `verify` finds; in a process of its own, because damage must not end the tests.
///
///     p TOPIC PARTITION START END           a partition, …
///     f OFFSET PRODUCER NUMBER intact|wrong … the records in it, …
///     d FROM TO                             … and what was passed over
///     t TOPIC CODE TEXT                     nothing of the topic can be read
///     v TOPIC PARTITION FROM TO             what `verify` names
enum LogCheckChild {
  static func run(_ arguments: [String]) {
    guard arguments.count == 3, let seed = UInt64(arguments[1]) else {
      Child.say("usage: log-check DIRECTORY SEED refuse|report")
      exit(64)
    }
    do {
      let log = try EventLog.open(
        at: arguments[0], LogOptions(damage: arguments[2] == "report" ? .report : .refuse))
      Child.say("opened")
      for topic in LogWorkload.topics {
        do {
          say(try LogContents.partitions(of: topic, in: log, LogWorkload(seed: seed), damage: .skip), topic)
        } catch let error as EventLogError {
          Child.say("t \(topic.name) \(error.code) \(error)")
        }
      }
      for damage in try log.verify().damages {
        Child.say(
          "v \(damage.topic) \(damage.partition) \(damage.offsets.lowerBound) \(damage.offsets.upperBound)"
            + " \(damage.reason)")
      }
      Child.say("done")
    } catch {
      Child.say("error \((error as? EventLogError).map { "\($0.code)" } ?? "untyped") \(error)")
      exit(1)
    }
  }

  private static func say(_ partitions: [LogContents.Partition], _ topic: LogWorkload.Topic) {
    for (number, partition) in partitions.enumerated() {
      Child.say("p \(topic.name) \(number) \(partition.start) \(partition.end)")
      for record in partition.records {
        let identity = record.identity ?? LogWorkload.Identity(-1, -1)
        Child.say(
          "f \(record.offset) \(identity.producer) \(identity.number) \(record.isIntact ? "intact" : "wrong")")
      }
      for range in partition.damages { Child.say("d \(range.lowerBound) \(range.upperBound)") }
    }
  }
}
