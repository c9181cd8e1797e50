import Bytes
import CrashSupport
import EventLog
import Foundation
import Testing

@testable import CrashChild

/// Readers in processes of their own beside a writer that rolls, removes, is killed and started again: they see every
/// record once, in order, never a gap, and nothing that is not there in the end.
@Suite struct LogReaderTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func otherProcessesReadEveryRecordOnceInOrder() throws {
    let seed = SeededRandom.seed(for: "readers beside the log")
    var random = SeededRandom(seed: seed)
    let lives = LogLives(directory: folder.file("log"), seed: seed)
    lives.operations = 400
    // Before there is a log, and before there are topics.
    var readers = try [("spread", "start"), ("retained", "start"), ("plain", "time")].map {
      try start($0.0, $0.1, lives)
    }
    for life in 0..<4 {
      // Some die at the worst of moments: when a commit is in the file, and the readers' lock file does not know.
      let commits = Int.random(in: 30...200, using: &random)
      let death = Recorder.Failure(.syncedWrite, number: commits, errorNumber: Recorder.Failure.death)
      let recorder = Recorder(root: lives.directory, journalPath: folder.file("journal-\(life)"))
      let child = try lives.start(
        environment: life < 3 ? try recorder.environment(syncs: true, failing: death) : [:])
      if life == 1 { readers.append(try start("spread", "time", lives)) }
      var lines: [String] = []
      var left = life < 3 && Bool.random(using: &random) ? Int.random(in: 100...300, using: &random) : Int.max
      while left > 0, let line = child.readLine() {
        lines.append(line)
        if line.hasPrefix("a ") { left -= 1 }
      }
      child.kill()
      lines += child.remainingLines()
      child.wait()
      lives.add(lines)
      if life == 3 { #expect(lines.last == "done") }
      #expect(!(lines.last ?? "").hasPrefix("error"), "seed \(seed): \(lines.last ?? "")")
    }
    let contents = try lives.expectSound("seed \(seed)")
    for (number, reader) in readers.enumerated() {
      let lines = caughtUp(reader, contents)
      #expect(!lines.contains { $0.hasPrefix("error") }, "seed \(seed): \(lines.last ?? "")")
      let read = lines.count { $0.hasPrefix("r ") }
      print("reader \(number) of \(reader.topic): \(read) records")
      // Retention may have taken all there was.
      #expect(read > 10 || reader.topic == "retained")
      lives.addReader(lines, number)
    }
    try lives.expectSound("seed \(seed), with what others read")
  }

  @Test func aDeletedTopicIsToldToReadersElsewhere() throws {
    let lives = LogLives(directory: folder.file("log"), seed: 1)
    let log = try EventLog.open(at: lives.directory)
    let topic = try log.topic("spread", TopicOptions(partitions: 3))
    let reader = try start("spread", "start", lives)
    #expect(reader.child.readLine() == "opened")
    #expect(reader.child.readLine() == "found")
    let record = lives.workload.newRecord(LogWorkload.Identity(1, 0), in: LogWorkload.topics[1])
    _ = try topic.appendBlocking(
      key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers, partition: 0)
    #expect(reader.child.readLine() == "r reader spread 0 0 1 0")
    try log.deleteTopic("spread")
    // Another topic of the same name is not taken for the one that was read.
    let again = try log.topic("spread", TopicOptions(partitions: 3))
    _ = try again.appendBlocking(key: nil, value: [1], timestamp: record.timestamp, partition: 0)
    #expect(reader.child.readLine()?.hasPrefix("error topicDeleted") == true)
    #expect(reader.child.wait() == .exited(1))
  }

  private struct Reader {
    var child: ChildProcess
    var topic: String
  }

  private func start(_ topic: String, _ from: String, _ lives: LogLives) throws -> Reader {
    Reader(
      child: try ChildProcess(
        try ChildProcess.builtExecutable("CrashChild"),
        ["log-read", lives.directory, "\(lives.workload.seed)", topic, "reader", from]), topic: topic)
  }

  /// What the reader said until it came to the end of every partition that has records.
  private func caughtUp(_ reader: Reader, _ contents: LogContents) -> [String] {
    var due: Set<String> = []
    for (number, partition) in (contents.topics[reader.topic] ?? []).enumerated() where !partition.records.isEmpty {
      due.insert("\(number) \(partition.end - 1)")
    }
    var lines: [String] = []
    let deadline = ContinuousClock.now + .seconds(30)
    while !due.isEmpty, case .line(let line) = reader.child.nextLine(before: deadline) {
      lines.append(line)
      let words = line.split(separator: " ")
      if words.first == "r" { due.remove("\(words[3]) \(words[4])") }
      if words.first == "error" { break }
    }
    #expect(due.isEmpty, "the reader of \(reader.topic) did not come to \(due): \(lines.last ?? "")")
    reader.child.kill()
    reader.child.wait()
    return lines
  }
}
