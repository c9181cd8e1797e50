import CrashSupport
import EventLog
import Glibc

/// `log-group DIRECTORY TOPIC GROUP end|tail`: reads a log beside the process that writes it, as a member of a group,
/// up to its end or for ever. Says `opened`, and of each record, when it has been handled, `h PARTITION OFFSET KEY`; in
/// the end `done FINISHED KNOWN`.
enum LogGroupChild {
  static func run(_ arguments: [String]) async {
    guard arguments.count == 4 else {
      Child.say("usage: log-group DIRECTORY TOPIC GROUP end|tail")
      exit(64)
    }
    do {
      let log = try EventLog.open(
        at: arguments[0], LogOptions(access: .readOnly, pollInterval: .milliseconds(1)))
      let subscription = try log.topic(arguments[1]).subscribe(
        group: arguments[2], SubscriptionOptions(tailing: arguments[3] == "tail"))
      Child.say("opened")
      let options = DeliveryOptions(
        maximumRecordsAhead: 200, commitInterval: .milliseconds(5), commitRecords: 20)
      let counts = try await subscription.forEach(maxConcurrent: 16, options) { record in
        if record.offset % 3 == 0 { await Task.yield() }
        Child.say("h \(record.partition) \(record.offset) \(String(decoding: record.key ?? [], as: UTF8.self))")
      }
      await subscription.close()
      Child.say("done \(counts.finished) \(counts.known)")
    } catch {
      Child.say("error \((error as? EventLogError).map { "\($0.code)" } ?? "untyped") \(error)")
      exit(1)
    }
  }
}
