import CrashSupport
import Testing

/// The checker finds each kind of violation in histories made by hand, and none where all is well: a checker that
/// always passes proves nothing.
@Suite struct LogCheckerTests {
  typealias Kind = LogChecker.Violation.Kind
  typealias Found = LogContents.Found
  typealias Identity = LogWorkload.Identity

  let workload = LogWorkload(seed: 7)

  /// `records`: per topic and partition, producer and number of what is at each offset from the start on.
  private func contents(
    _ records: [String: [[(Int, Int)]]], start: Int64 = 0, damages: [Range<Int64>] = []
  ) -> LogContents {
    var contents = LogContents()
    for topic in LogWorkload.topics {
      contents.topics[topic.name] = (0..<topic.partitions).map { number in
        let there = records[topic.name].map { number < $0.count ? $0[number] : [] } ?? []
        let found = there.enumerated().map { Found(start + Int64($0.offset), Identity($0.element.0, $0.element.1)) }
        return LogContents.Partition(
          start: there.isEmpty ? 0 : start, end: there.isEmpty ? 0 : start + Int64(there.count), records: found,
          damages: damages)
      }
    }
    return contents
  }

  private func kinds(
    _ lines: [String], _ contents: LogContents, afterPowerLoss: Bool = false
  ) -> Set<Kind> {
    var history = LogHistory()
    history.add(lines, life: 1)
    #expect(history.others.isEmpty)
    return Set(LogChecker.check(workload, history, contents, afterPowerLoss: afterPowerLoss).map(\.kind))
  }

  /// Two producers of one topic, one after the other, all acknowledged.
  private let sound = [
    "i 1 append plain 1 0 1", "a 1 0:0", "i 2 append plain 1 1 1", "a 2 0:1", "i 3 append plain 2 0 1", "a 3 0:2",
  ]

  @Test func nothingIsFoundWhereAllIsWell() {
    #expect(kinds(sound, contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])) == [])
    #expect(kinds([], contents([:])) == [])
  }

  @Test func whatWasBegunAndNotAcknowledgedMayBeThereOrNot() {
    let lines = sound + ["i 4 append plain 3 0 1"]
    #expect(kinds(lines, contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])) == [])
    #expect(kinds(lines, contents(["plain": [[(1, 0), (1, 1), (2, 0), (3, 0)]]])) == [])
    // Its commit may have come before that of one that was acknowledged meanwhile.
    let early = ["i 4 append plain 3 0 1"] + sound.map { $0.replacing("0:2", with: "0:3") }
    #expect(kinds(early, contents(["plain": [[(1, 0), (1, 1), (3, 0), (2, 0)]]])) == [])
  }

  @Test(arguments: [0, 1, 2]) func aMissingRecordIsFound(index: Int) {
    var there = [(1, 0), (1, 1), (2, 0)]
    there.remove(at: index)
    let found = kinds(sound, contents(["plain": [there]]))
    #expect(found.contains(.missing))
    #expect(index == 2 || found.contains(.moved))
  }

  @Test func aMissingTopicIsFound() {
    #expect(kinds(sound, LogContents()) == [.missing])
    #expect(kinds(["i 1 append unknown 1 0 1", "a 1 0:0"], contents([:])) == [.missing])
  }

  @Test func aDuplicateIsFound() {
    let there = [(1, 0), (1, 1), (2, 0), (1, 1)]
    #expect(kinds(sound, contents(["plain": [there]])).contains(.duplicated))
    let retried = ["i 1 idempotent plain 1 0 2", "i 2 idempotent plain 1 0 2", "a 2"]
    #expect(kinds(retried, contents(["plain": [[(1, 0), (1, 1)]]])) == [])
    #expect(kinds(retried, contents(["plain": [[(1, 0), (1, 1), (1, 0), (1, 1)]]])).contains(.duplicated))
  }

  @Test func aDuplicateInAnotherPartitionIsFound() {
    let lines = ["i 1 append spread 1 0 1", "a 1 2:0"]
    #expect(kinds(lines, contents(["spread": [[], [], [(1, 0)]]])) == [])
    #expect(kinds(lines, contents(["spread": [[(1, 0)], [], [(1, 0)]]])).contains(.duplicated))
  }

  @Test func aChangedOrderOfAProducerIsFound() {
    let lines = ["i 1 enqueue plain 1 0 3", "a 1", "i 2 flush plain 1 3 0", "a 2"]
    #expect(kinds(lines, contents(["plain": [[(1, 0), (1, 1), (1, 2)]]])) == [])
    #expect(kinds(lines, contents(["plain": [[(1, 1), (1, 0), (1, 2)]]])) == [.reordered])
  }

  @Test func whatCameLaterInFrontOfWhatWasAcknowledgedIsFound() {
    // Positions were not told: only the order of what was said shows it.
    let lines = [
      "i 1 enqueue plain 1 0 1", "a 1", "i 2 flush plain 1 1 0", "a 2", "i 3 enqueue plain 2 0 1", "a 3",
    ]
    #expect(kinds(lines, contents(["plain": [[(1, 0), (2, 0)]]])) == [])
    #expect(kinds(lines, contents(["plain": [[(2, 0), (1, 0)]]])) == [.overtaken])
  }

  @Test func aChangedOffsetIsFound() {
    let lines = ["i 1 append plain 1 0 1", "i 2 append plain 2 0 1", "a 1 0:0", "a 2 0:1"]
    #expect(kinds(lines, contents(["plain": [[(2, 0), (1, 0)]]])) == [.moved])
  }

  @Test(arguments: ["group", "idempotent"]) func aTornUnitIsFound(kind: String) {
    let lines = ["i 1 \(kind) plain 1 0 3"]
    #expect(kinds(lines, contents([:])) == [])
    #expect(kinds(lines, contents(["plain": [[(1, 0), (1, 1), (1, 2)]]])) == [])
    #expect(kinds(lines, contents(["plain": [[(1, 0), (1, 1)]]])) == [.torn])
    #expect(kinds(lines, contents(["plain": [[(1, 2)]]])) == [.torn])
  }

  @Test func aShorterAttemptDoesNotTearTheLongerOneBeforeIt() {
    let lines = ["i 1 idempotent plain 1 0 3", "x 1 unknown storage", "i 2 idempotent plain 1 0 2", "a 2 0:0 0:1"]
    #expect(kinds(lines, contents(["plain": [[(1, 0), (1, 1)]]])) == [])
    // None of them was acknowledged: either may have been written.
    #expect(kinds(Array(lines.dropLast()), contents(["plain": [[(1, 0), (1, 1)]]])) == [])
    #expect(kinds(Array(lines.dropLast()), contents(["plain": [[(1, 0)]]])).contains(.torn))
    #expect(kinds(Array(lines.dropLast()), contents(["plain": [[(1, 1), (1, 2)]]])).contains(.torn))
  }

  @Test func enqueuedRecordsAreNoUnitUntilTheyAreFlushed() {
    let lines = ["i 1 enqueue plain 1 0 3", "a 1"]
    #expect(kinds(lines, contents(["plain": [[(1, 0)]]])) == [])
    let flush = ["i 2 flush plain 1 3 0"]
    #expect(kinds(lines + flush, contents(["plain": [[(1, 0)]]])) == [])
    #expect(kinds(lines + flush + ["x 2 definite storage"], contents(["plain": [[(1, 0)]]])) == [])
    #expect(kinds(lines + flush + ["a 2"], contents(["plain": [[(1, 0)]]])) == [.missing])
    // A flush that failed told of them: a later one is not about them.
    let again = ["x 2 definite storage", "i 3 flush plain 1 3 0", "a 3"]
    #expect(kinds(lines + flush + again, contents(["plain": [[(1, 0)]]])) == [])
    // What was enqueued behind the flush is not covered by it.
    let later = lines + flush + ["i 3 enqueue plain 1 3 1", "a 3", "a 2"]
    #expect(kinds(later, contents(["plain": [[(1, 0), (1, 1), (1, 2)]]])) == [])
  }

  @Test func wrongBytesAreFound() {
    var wrong = contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])
    wrong.topics["plain"]?[0].records[1].isIntact = false
    #expect(kinds(sound, wrong) == [.wrongBytes])
  }

  @Test func whatNobodyWroteIsFound() {
    #expect(kinds(sound, contents(["plain": [[(1, 0), (1, 1), (2, 0), (9, 9)]]])) == [.phantom])
    var nobody = contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])
    nobody.topics["plain"]?[0].end = 4
    nobody.topics["plain"]?[0].records.append(Found(3, nil))
    #expect(kinds(sound, nobody) == [.phantom])
  }

  @Test func whatTheLogHadRefusedIsFound() {
    let refused = sound + ["i 4 append plain 3 0 1", "x 4 definite storage"]
    #expect(kinds(refused, contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])) == [])
    #expect(kinds(refused, contents(["plain": [[(1, 0), (1, 1), (2, 0), (3, 0)]]])) == [.refused])
    let unknown = sound + ["i 4 append plain 3 0 1", "x 4 unknown storage"]
    #expect(kinds(unknown, contents(["plain": [[(1, 0), (1, 1), (2, 0), (3, 0)]]])) == [])
  }

  @Test(arguments: [0, 1, 2]) func aGapIsFoundUnlessTheLogReportsIt(index: Int) {
    var gap = contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])
    gap.topics["plain"]?[0].records.remove(at: index)
    #expect(kinds(sound, gap) == [.gap, .missing])
    gap.topics["plain"]?[0].damages = [Int64(index)..<Int64(index) + 1]
    #expect(kinds(sound, gap) == [])
    // Another range does not excuse it, nor does one that covers a part.
    gap.topics["plain"]?[0].damages = [Int64(index) + 1..<Int64(index) + 2]
    #expect(kinds(sound, gap) == [.gap, .missing])
  }

  @Test func offsetsThatDoNotRiseAreFound() {
    var wrong = contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])
    wrong.topics["plain"]?[0].records[2].offset = 1
    #expect(kinds(sound, wrong).contains(.disorder))
    // A log that begins later than it did, without retention.
    #expect(kinds([], contents(["plain": [[(1, 0)]]], start: 5)).contains(.disorder))
  }

  @Test func retentionMayTakeTheOldestOnly() {
    let lines = (0..<4).flatMap { ["i \($0) append retained 1 \($0) 1", "a \($0) 0:\($0)"] }
    #expect(kinds(lines, contents(["retained": [[(1, 2), (1, 3)]]], start: 2)) == [])
    var hole = contents(["retained": [[(1, 1), (1, 2), (1, 3)]]], start: 1)
    hole.topics["retained"]?[0].records.remove(at: 1)
    #expect(kinds(lines, hole) == [.gap, .missing])
  }

  @Test func compactionMayTakeWhatCameAgainOnly() throws {
    let topic = try #require(LogWorkload.topics.first { $0.name == "compacted" })
    func key(_ number: Int) -> [UInt8]? { workload.record(Identity(1, number), in: topic).key }
    let candidates = (0..<60).filter { $0 % 6 != 5 && key($0) != nil }
    let first = try #require(candidates.first { one in candidates.contains { $0 > one && key($0) == key(one) } })
    let again = try #require(candidates.first { $0 > first && key($0) == key(first) })
    let other = try #require(candidates.first { $0 > first && key($0) != key(first) })
    let keyless = try #require((0..<60).first { key($0) == nil })
    func check(_ one: Int, _ two: Int) -> Set<Kind> {
      let lines = [
        "i 1 append compacted 1 \(one) 1", "a 1 0:0", "i 2 append compacted 1 \(two) 1", "a 2 0:1",
      ]
      var left = contents(["compacted": [[(1, one), (1, two)]]])
      left.topics["compacted"]?[0].records.removeFirst()
      return kinds(lines, left)
    }
    #expect(check(first, again) == [])
    #expect(check(first, other) == [.missing])
    if keyless < again { #expect(check(keyless, again) == [.missing]) }
  }

  @Test func aPowerLossMayTakeTheTailOnlyWhereThatWasAgreed() {
    let lines = ["i 1 append lazy 1 0 1", "a 1 0:0", "i 2 append lazy 1 1 1", "a 2 0:1"]
    #expect(kinds(lines, contents(["lazy": [[(1, 0)]]])) == [.missing])
    #expect(kinds(lines, contents(["lazy": [[(1, 0)]]]), afterPowerLoss: true) == [])
    var hole = contents(["lazy": [[(1, 0), (1, 1)]]])
    hole.topics["lazy"]?[0].records.removeFirst()
    #expect(kinds(lines, hole, afterPowerLoss: true) == [.gap, .missing])
    #expect(kinds(sound, contents(["plain": [[(1, 0)]]]), afterPowerLoss: true) == [.missing])
  }

  @Test func aReaderThatWentBackwardsIsFound() {
    let there = contents(["plain": [[(1, 0), (1, 1), (2, 0)]]])
    #expect(kinds(sound + ["r a plain 0 0 1 0", "r a plain 0 1 1 1", "r b plain 0 0 1 0"], there) == [])
    #expect(kinds(sound + ["r a plain 0 1 1 1", "r a plain 0 0 1 0"], there) == [.backwards])
    #expect(kinds(sound + ["r a plain 0 1 1 1", "r a plain 0 1 1 1"], there) == [.backwards])
  }

  @Test func whatWasReadAndIsNotThereAnyMoreIsFound() {
    let lines = ["i 1 append plain 1 0 1", "r a plain 0 0 1 0"]
    #expect(kinds(lines, contents(["plain": [[(1, 0)]]])) == [])
    #expect(kinds(lines, contents([:])) == [.unread])
    #expect(kinds(lines + ["i 2 append plain 2 0 1"], contents(["plain": [[(2, 0), (1, 0)]]])) == [.moved])
    #expect(kinds(["r a plain 0 0 9 9"], contents([:])) == [.phantom])
  }
}
