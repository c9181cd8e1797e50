import Bytes
import CrashSupport
import EventLog
import Foundation
import Testing

/// A topic's appends, crashed everywhere under each durability: exactly what it promises is there, and what is there is
/// a prefix of what was appended.
@Suite struct LogDurabilityTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// How many records the log at `path` holds: those of the workload from the first on, in order, none twice.
  private func count(_ path: String, _ workload: NumberedAppends, _ comment: Comment) throws -> Int {
    let log = try EventLog.open(at: path)
    defer { log.close() }
    // A crash before the topic was there leaves an empty log.
    guard try log.topicNames() == ["t"] else { return 0 }
    let topic = try log.topic("t")
    var found: [Int] = []
    for partition in 0..<topic.partitions {
      let reader = try topic.reader(partition: partition, from: topic.startOffset(partition))
      var next = 0
      var numbers: [Int] = []
      try reader.read(maxBytes: .max) { batch in
        for record in batch {
          #expect(record.offset == next, "\(comment)")
          next += 1
          let text = String(decoding: record.value.prefix { $0 != 0x20 }, as: UTF8.self)
          let number = Int(text) ?? -1
          numbers.append(number)
          let expected = workload.record(number)
          #expect(expected.partition == partition && expected.value == Array(record.value), "\(comment)")
        }
      }
      #expect(numbers == numbers.sorted(), "in order: \(comment)")
      found += numbers
    }
    #expect(found.sorted() == Array(1..<found.count + 1), "nothing missing, nothing twice: \(comment)")
    #expect(try log.verify().isSound, "\(comment)")
    return found.count
  }

  private func last(_ word: String, _ lines: [String]) -> Int {
    lines.last { $0.hasPrefix(word + " ") }.flatMap { Int($0.dropFirst(word.count + 1)) } ?? 0
  }

  @Test(arguments: ["synced", "interval", "system"])
  func aCrashOfTheMachineLosesNoMoreThanDeclared(durability: String) throws {
    let seed = SeededRandom.seed(for: "crash a log of durability \(durability)")
    var random = SeededRandom(seed: seed)
    let workload = NumberedAppends(seed: seed)
    let root = folder.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let recorder = Recorder(root: root, journalPath: folder.file("journal"))
    let child = try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"), ["log-appends", root + "/log", durability, "\(seed)", "1", "60"],
      environment: try recorder.environment())
    let lines = child.remainingLines()
    #expect(child.wait() == .exited(0))
    #expect(lines.last == "done")

    let journal = try Journal(path: recorder.journalPath)
    let images = CrashImages(journal: journal, root: root)
    let others = (0..<journal.records.count).shuffled(using: &random).prefix(60)
    let positions = Set(journal.syncPositions.shuffled(using: &random).prefix(60) + others).sorted()
    var lost = 0
    for position in positions + [journal.records.count] {
      let marks = journal.marks(before: position)
      let acked = last("acked", marks)
      let certain = durability == "synced" ? acked : last("synced", marks)
      for probability in [0, 0.3, 0.8, 1] {
        let image = folder.file("image")
        try images.build(at: position, in: image, keeping: probability, random: &random)
        let comment: Comment = "\(durability), record \(position), keeping \(probability), seed \(seed)"
        guard FileManager.default.fileExists(atPath: image + "/log") else {
          #expect(acked == 0)
          continue
        }
        let found = try count(image + "/log", workload, comment)
        #expect(found >= certain && found <= acked + 1, "\(found) of \(certain)…\(acked): \(comment)")
        lost = max(lost, acked - found)
        // What the crash left goes on, and nothing of what was lost comes back.
        if found > 0 {
          let log = try EventLog.open(at: image + "/log")
          let next = workload.record(found + 1)
          try log.topic("t").appendBlocking(
            key: nil, value: next.value, timestamp: Timestamp(microseconds: 0), partition: next.partition)
          log.close()
          #expect(try count(image + "/log", workload, comment) == found + 1)
        }
      }
    }
    print("\(durability): crashed at \(positions.count) places, up to \(lost) acknowledged records lost")
    #expect(durability == "synced" ? lost == 0 : lost > 0)
  }

  @Test(arguments: ["synced", "interval", "system"])
  func aCrashOfTheProcessLosesNothingAcknowledged(durability: String) throws {
    let seed = SeededRandom.seed(for: "kill a log of durability \(durability)")
    var random = SeededRandom(seed: seed)
    let workload = NumberedAppends(seed: seed)
    let path = folder.file("log")
    var found = 0
    for _ in 0..<8 {
      let child = try ChildProcess(
        try ChildProcess.builtExecutable("CrashChild"),
        ["log-appends", path, durability, "\(seed)", "\(found + 1)", "1000000"])
      #expect(child.readLine() == "opened")
      var lines: [String] = []
      for _ in 0..<Int.random(in: 0..<60, using: &random) { lines.append(try #require(child.readLine())) }
      for _ in 0..<Int.random(in: 0..<3000, using: &random) { sched_yield() }
      child.kill()
      lines += child.remainingLines()
      #expect(child.wait() == .killed(signal: SIGKILL))
      let acked = max(found, last("acked", lines))
      let now = try count(path, workload, "\(durability), seed \(seed)")
      #expect(now >= acked && now <= acked + 1)
      found = now
    }
  }
}
