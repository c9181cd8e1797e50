import Bytes
import Testing

@testable import EventLog

@Suite struct TimeLookupTests {
  @Test func theFirstRecordAtOrAfterATimeAsAPlainSearchFindsIt() throws {
    var (random, seed) = SeededGenerator.fresh("TimeLookupTests")
    let directory = TemporaryDirectory()
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    var times: [Int64] = []
    for number in 0..<400 {
      // Mostly rising, sometimes far back or at the ends of time.
      var time = Int64(number) * 10 + Int64.random(in: -200...200, using: &random)
      if number % 97 == 50 { time = .min }
      if number == 390 { time = .max }
      times.append(time)
      let size = Int.random(in: 0...3, using: &random) == 0 ? 40_000 : 10
      _ = try topic.appendBlocking(
        key: nil, value: Array(repeating: 1, count: size), timestamp: Timestamp(microseconds: time), partition: 1)
      if Int.random(in: 0..<60, using: &random) == 0 { try topic.sealBlocking() }
    }
    for wanted in [.min, .min + 1, -1000, 0, 3999, 4200, 5000, .max] + (0..<300).map({ Int64($0) * 14 - 50 }) {
      let expected = times.firstIndex { $0 >= wanted }.map(Int64.init)
      #expect(
        try topic.offset(forTimestamp: Timestamp(microseconds: wanted), partition: 1) == expected, "seed \(seed)")
    }
    #expect(try topic.offset(forTimestamp: .min, partition: 0) == nil)
  }

  @Test func onlySurvivingRecordsAreFound() throws {
    let directory = TemporaryDirectory()
    let clock = TestClock()
    let log = try EventLog.open(at: directory.path, LogOptions(clock: clock.read))
    let topic = try log.topic("t", TopicOptions(retentionAge: .seconds(1)))
    for time in 0..<5 as Range<Int64> { try topic.put("x", at: time) }
    try topic.sealBlocking()
    clock.advance(seconds: 5)
    try topic.put("y", at: 100)
    try log.maintainBlocking()
    #expect(try topic.offset(forTimestamp: Timestamp(microseconds: 2), partition: 0) == 5)
    #expect(try topic.offset(forTimestamp: Timestamp(microseconds: 101), partition: 0) == nil)
  }
}
