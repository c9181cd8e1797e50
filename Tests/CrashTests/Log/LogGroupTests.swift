import Bytes
import CrashSupport
import EventLog
import Testing

/// A process that reads a log as a consumer group, killed again and again, while this one writes.
@Suite struct LogGroupTests {
  let folder: TemporaryFolder
  let log: EventLog
  let topic: LogTopic

  init() throws {
    folder = try TemporaryFolder()
    log = try EventLog.open(at: folder.file("log"))
    topic = try log.topic("events", TopicOptions(partitions: 3))
  }

  private struct Place: Hashable {
    var partition: Int
    var offset: Int64
  }

  /// What the children said that they had handled.
  private struct Handled {
    var places: Set<Place> = []
    var repeats = 0

    /// Takes one line; `settled` must not be handled again.
    mutating func take(_ line: String, settled: Set<Place>, _ context: String) {
      let words = line.split(separator: " ")
      guard words.count == 5, words[0] == "h", let partition = Int(words[1]), let offset = Int64(words[2]) else {
        Issue.record("the child said \(line), \(context)")
        return
      }
      let place = Place(partition: partition, offset: offset)
      if settled.contains(place) { Issue.record("\(place) was committed and is repeated, \(context)") }
      if !places.insert(place).inserted { repeats += 1 }
    }
  }

  private func child(_ mode: String) throws -> ChildProcess {
    let child = try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"), ["log-group", log.directory, "events", "group", mode])
    #expect(child.readLine() == "opened")
    return child
  }

  /// What the group has committed as finished.
  private func settled() throws -> Set<Place> {
    var places: Set<Place> = []
    // It begins with the first child.
    guard let group = try log.groups().first, let partitions = group.topics.first?.partitions else { return [] }
    for partition in partitions {
      for offset in 0..<(partition.committed ?? 0) {
        places.insert(Place(partition: partition.partition, offset: offset))
      }
      for offset in partition.finished.ranges.joined() {
        places.insert(Place(partition: partition.partition, offset: offset))
      }
    }
    return places
  }

  private func write(_ count: Int, from first: Int) throws {
    try topic.appendBlocking(
      contentsOf: (first..<first + count).map { number in
        NewRecord(
          key: Array("key \(number % 31)".utf8), value: Array("\(number)".utf8),
          timestamp: Timestamp(microseconds: Int64(number)))
      })
  }

  /// The keys' records in their order, as the log has them.
  private func keys() throws -> [Place: (key: String, earlier: Place?)] {
    var found: [Place: (key: String, earlier: Place?)] = [:]
    var last: [String: Place] = [:]
    for partition in 0..<topic.partitions {
      try topic.reader(partition: partition, from: 0).read(maxBytes: .max) { batch in
        for record in batch {
          let key = String(decoding: record.key, as: UTF8.self)
          let place = Place(partition: partition, offset: record.offset)
          found[place] = (key, last[key])
          last[key] = place
        }
      }
    }
    return found
  }

  @Test func killedItGoesOnAtWhatIsCommittedInTheOrderOfTheKeys() throws {
    let seed = SeededRandom.seed(for: "kill a consumer")
    var random = SeededRandom(seed: seed)
    var handled = Handled()
    var written = 0
    var kills = 0
    let total = 6000
    var lines: [String] = []
    while handled.places.count < total {
      let settled = try settled()
      let consumer = try child("tail")
      var left = Int.random(in: 1...400, using: &random)
      var said: [String] = []
      while left > 0, handled.places.count < total {
        // Always something ahead of it, until there is no more.
        if written < total && written < handled.places.count + 300 {
          try write(200, from: written)
          written += 200
        }
        guard let line = consumer.readLine() else {
          Issue.record("the child ended, seed \(seed)")
          return
        }
        said.append(line)
        handled.take(line, settled: settled, "seed \(seed), kill \(kills)")
        left -= 1
      }
      consumer.kill()
      for line in consumer.remainingLines() {
        said.append(line)
        handled.take(line, settled: settled, "seed \(seed), kill \(kills)")
      }
      #expect(consumer.wait() == .killed(signal: 9))
      kills += 1
      lines += said
    }
    #expect(kills > 10)
    // What was committed was handled; the rest is at most what is in hand and not committed.
    #expect(try settled().isSubset(of: handled.places), "seed \(seed)")
    try checkOrder(lines, seed)
    let last = try child("end")
    var end = ""
    while let line = last.readLine() {
      if line.hasPrefix("done") { end = line } else { handled.take(line, settled: [], "seed \(seed), the end") }
    }
    #expect(end.hasPrefix("done"))
    #expect(last.wait() == .exited(0))
    #expect(handled.places.count == total)
    #expect(try log.group("group").lag == 0)
    print("kill a consumer: \(kills) kills, \(handled.repeats) of \(total) records repeated")
  }

  /// Whenever a record was handled, the one before it of its key had been.
  private func checkOrder(_ lines: [String], _ seed: UInt64) throws {
    let keys = try keys()
    var done: Set<Place> = []
    for line in lines {
      let words = line.split(separator: " ")
      guard words.count == 5, let partition = Int(words[1]), let offset = Int64(words[2]) else { continue }
      let place = Place(partition: partition, offset: offset)
      if let earlier = keys[place]?.earlier, !done.contains(earlier) {
        Issue.record("\(place) before \(earlier) of the same key, seed \(seed)")
      }
      done.insert(place)
    }
  }

  @Test func aGroupBelongsToOneProcessUntilItEnds() throws {
    try write(10, from: 0)
    let consumer = try child("tail")
    do {
      _ = try topic.subscribe(group: "group")
      Issue.record("two processes have the group")
    } catch {
      #expect(error.code == .groupInUse)
      #expect(error.message.contains("process \(consumer.processID)"))
    }
    #expect(try log.group("group").holder == Int(consumer.processID))
    for _ in 0..<10 { #expect(consumer.readLine()?.hasPrefix("h ") == true) }
    consumer.kill()
    consumer.wait()
    #expect(try log.group("group").holder == nil)
    #expect(try topic.subscribe(group: "group").partitions == [0, 1, 2])
  }
}
