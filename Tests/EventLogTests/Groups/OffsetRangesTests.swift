import Bytes
import Testing

@testable import EventLog

@Suite("Sets of offsets") struct OffsetRangesTests {
  @Test func areAsSetsAre() {
    var (random, seed) = SeededGenerator.fresh("OffsetRanges")
    for round in 0..<100 {
      var ranges = OffsetRanges()
      var model: Set<Int64> = []
      for _ in 0..<60 {
        let start = Int64.random(in: 0..<60, using: &random)
        if Int.random(in: 0..<10, using: &random) == 0 {
          ranges.removeAll(below: start)
          model = model.filter { $0 >= start }
        } else {
          let range = start..<start + Int64.random(in: 0..<6, using: &random)
          ranges.insert(range)
          model.formUnion(range)
        }
        #expect(Set(ranges.ranges.flatMap { Array($0) }) == model, "seed \(seed), round \(round)")
        #expect(ranges.count == Int64(model.count))
        #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        for offset in Int64(-1)..<70 {
          var isRight = ranges.contains(offset) == model.contains(offset)
          var missing = offset
          while model.contains(missing) { missing += 1 }
          isRight = isRight && ranges.firstMissing(from: offset) == missing
          if !isRight { Issue.record("offset \(offset), seed \(seed)") }
        }
      }
    }
  }

  @Test func goThroughTheFileAsTheyAre() throws {
    var (random, seed) = SeededGenerator.fresh("CommittedOffset")
    for _ in 0..<300 {
      var finished = OffsetRanges()
      let offset = Int64.random(in: 0..<1 << 40, using: &random)
      var next = offset
      for _ in 0..<Int.random(in: 0..<40, using: &random) {
        next += Int64.random(in: 1..<1 << 20, using: &random)
        let end = next + Int64.random(in: 1..<300, using: &random)
        finished.insert(next..<end)
        next = end
      }
      let whole = CommittedOffset(offset: offset, at: .init(microseconds: 7), finished: finished)
      let bytes = whole.encoded()
      let again = try bytes.withUnsafeBytes { try CommittedOffset($0, path: "x") }
      #expect(again == whole, "seed \(seed)")
      var damaged = bytes
      damaged[Int.random(in: 0..<bytes.count, using: &random)] ^= 0x40
      let error = failure { _ = try damaged.withUnsafeBytes { try CommittedOffset($0, path: "x") } }
      #expect(error?.code == .damaged || error?.code == .unsupportedFormat, "seed \(seed)")
      let cut = failure { _ = try bytes.dropLast().withUnsafeBytes { try CommittedOffset($0, path: "x") } }
      #expect(cut?.code == .damaged)
    }
  }
}
