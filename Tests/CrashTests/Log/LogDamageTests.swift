import CrashSupport
import Foundation
import Testing

@testable import CrashChild
@testable import Millrace

/// Files of a log that were changed behind its back: nothing is cut off silently. What cannot be read is named, all
/// else is there.
@Suite struct LogDamageTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private enum Damage: CaseIterable {
    case flippedBit, truncation, removal
  }

  @Test func damageIsNamedAndTheRestIsThere() throws {
    let seed = SeededRandom.seed(for: "damage the log")
    var random = SeededRandom(seed: seed)
    let lives = LogLives(directory: folder.file("log"), seed: seed)
    lives.operations = 500
    try lives.runUndisturbed()
    let files = try FileManager.default.subpathsOfDirectory(atPath: lives.directory).filter { $0.hasSuffix(".mdb") }
      .sorted()
    var outcomes: [String: Int] = [:]
    for round in 0..<LogLives.rounds(24) {
      let damaged = folder.file("damaged")
      try? FileManager.default.removeItem(atPath: damaged)
      try FileManager.default.copyItem(atPath: lives.directory, toPath: damaged)
      let file = files.randomElement(using: &random) ?? ""
      let damage: Damage = round % 3 == 1 ? .truncation : round % 12 == 2 ? .removal : .flippedBit
      let place = try self.damage(damaged + "/" + file, damage, &random)
      let comment: Comment = "seed \(seed), round \(round): \(damage) of \(file) at \(place)"
      outcomes["\(damage): \(try check(damaged, file, lives, comment))", default: 0] += 1
    }
    print("damaged: \(outcomes.sorted { $0.key < $1.key })")
  }

  private func damage(_ path: String, _ damage: Damage, _ random: inout SeededRandom) throws -> Int {
    if damage == .removal {
      try FileManager.default.removeItem(atPath: path)
      return 0
    }
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    defer { try? handle.close() }
    let size = Int(try handle.seekToEnd())
    var place = Int.random(in: 0..<max(size, 1), using: &random)
    // LMDB's own page headers and lists of entries are few bytes of many: as often as everything else.
    if damage == .flippedBit && Bool.random(using: &random) {
      place = place / 4096 * 4096 + Int.random(in: 0..<64, using: &random)
    }
    if damage == .truncation {
      try handle.truncate(atOffset: UInt64(place))
      return place
    }
    try handle.seek(toOffset: UInt64(place))
    let byte = try handle.read(upToCount: 1)?.first ?? 0
    try handle.seek(toOffset: UInt64(place))
    try handle.write(contentsOf: Data([byte ^ (1 << UInt8.random(in: 0..<8, using: &random))]))
    return place
  }

  /// Opens as it is meant to be opened; if that is refused, so that what is missing is reported. Returns what came of
  /// it.
  private func check(_ path: String, _ file: String, _ lives: LogLives, _ comment: Comment) throws -> String {
    let strict = try LogCheck(path, lives.workload, "refuse")
    if case .killed = strict.ending { return try namedByWalk(path + "/" + file, comment) }
    #expect(strict.ending == .exited(0) || strict.ending == .exited(1), "\(comment): \(strict.ending)")
    if let refusal = strict.refusal {
      let isTyped = ["damaged", "missingSegment", "truncatedSegment", "storage", "unsupportedFormat"].contains(refusal)
      #expect(isTyped, "\(comment): \(strict.lines.last ?? "")")
      // Without a catalogue nothing is known of the rest.
      if file == "catalog.mdb" { return "catalogue refused (\(refusal))" }
    }
    let check = strict.refusal == nil ? strict : try LogCheck(path, lives.workload, "report")
    if case .killed = check.ending { return try namedByWalk(path + "/" + file, comment) }
    #expect(check.ending == .exited(0), "\(comment): \(check.ending) \(check.lines.last ?? "")")
    let topics = LogWorkload.topics.filter { check.unreadable[$0.name] == nil }
    let names = Set(topics.map(\.name))
    var history = LogHistory()
    for line in lives.history.said where line.topic.map(names.contains) ?? true {
      history.add(line.text, life: line.life)
    }
    let violations = LogChecker.check(lives.workload, history, check.contents, topics: topics)
    #expect(violations.isEmpty, "\(comment): \(violations.prefix(5))")
    let isDamaged = check.contents.topics.values.joined().contains { !$0.damages.isEmpty }
    #expect(!isDamaged || !check.verified.isEmpty, "\(comment): what was passed over, `verify` does not name")
    if let code = check.unreadable.values.first { return "a topic refused (\(code))" }
    let opened = strict.refusal.map { "refused (\($0)), " } ?? ""
    return opened + (check.verified.isEmpty ? "harmless" : isDamaged ? "passed over" : "named by verify")
  }
}

extension LogDamageTests {
  /// LMDB may crash on a page whose structure is damaged. Such a page is then one that `millrace verify`, which walks
  /// the pages itself before it opens anything, names.
  private func namedByWalk(_ file: String, _ comment: Comment) throws -> String {
    let walk = try PageWalk.run(file, nil, progress: { _ in })
    #expect(!walk.damages.isEmpty, "\(comment): LMDB crashed on a file in which every page seems sound")
    return "LMDB crashed, the walk of its pages names it"
  }
}

/// What the child `log-check` said.
struct LogCheck {
  let ending: ChildProcess.Ending
  let lines: [String]
  /// The code of the error with which it did not open.
  private(set) var refusal: String?
  /// Topics of which nothing could be read, with the error's code.
  private(set) var unreadable: [String: String] = [:]
  private(set) var contents = LogContents()
  private(set) var verified: [String] = []

  init(_ path: String, _ workload: LogWorkload, _ policy: String) throws {
    let child = try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"), ["log-check", path, "\(workload.seed)", policy])
    lines = child.remainingLines()
    ending = child.wait()
    var partition: (topic: String, number: Int)?
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      let numbers = words.compactMap { Int64($0) }
      switch words.first {
      case "error": refusal = words.count > 1 ? words[1] : ""
      case "t": unreadable[words[1]] = words[2]
      case "v": verified.append(line)
      case "p":
        contents.topics[words[1], default: []].append(LogContents.Partition(start: numbers[1], end: numbers[2]))
        partition = (words[1], Int(numbers[0]))
      case "f":
        guard let partition else { continue }
        let identity = numbers[1] < 0 ? nil : LogWorkload.Identity(Int(numbers[1]), Int(numbers[2]))
        contents.topics[partition.topic]?[partition.number].records.append(
          LogContents.Found(numbers[0], identity, isIntact: words[4] == "intact"))
      case "d":
        guard let partition else { continue }
        contents.topics[partition.topic]?[partition.number].damages.append(numbers[0]..<numbers[1])
      default: continue
      }
    }
  }
}
