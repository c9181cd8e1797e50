import Bytes
import Testing

@testable import Dataflow

@Suite struct WatermarkTests {
  private func mark(_ time: Int64, idle: Bool = false) -> Watermark { Watermark(.at(time), isIdle: idle) }

  @Test func theMinimumOfTheActiveInputs() {
    var merge = WatermarkMerge(count: 2)
    #expect(merge.update(0, mark(5)) == nil)
    #expect(merge.update(1, mark(3)) == mark(3))
    #expect(merge.update(1, mark(9)) == mark(5))
    #expect(merge.update(1, mark(8)) == nil)
  }

  @Test(arguments: [[0, 1], [1, 0]]) func allIdleReachTheGreatestWhicheverFellIdleFirst(order: [Int]) {
    var merge = WatermarkMerge(count: 2)
    _ = merge.update(0, mark(5))
    _ = merge.update(1, mark(4))
    #expect(merge.current == mark(4))
    for input in order { _ = merge.update(input, mark(input == 0 ? 5 : 4, idle: true)) }
    #expect(merge.current == mark(5, idle: true))
  }

  @Test func anInputThatWakesBehindIsLeftOutUntilItHasCaughtUp() {
    var merge = WatermarkMerge(count: 2)
    _ = merge.update(0, mark(2))
    _ = merge.update(1, mark(2, idle: true))
    _ = merge.update(0, mark(10))
    #expect(merge.current == mark(10))
    // Awake at 4: behind.
    #expect(merge.update(1, mark(4)) == nil)
    #expect(merge.update(0, mark(12)) == mark(12))
    #expect(merge.update(1, mark(12)) == nil)
    // Level now, and so it counts.
    #expect(merge.update(0, mark(20)) == nil)
    #expect(merge.update(1, mark(15)) == mark(15))
  }

  @Test func noInputsAreIdle() { #expect(WatermarkMerge(count: 0).current == mark(.min, idle: true)) }

  @Test func aSilentPartitionIsLeftOutAfterItsTime() {
    let strategy = WatermarkStrategy.boundedOutOfOrderness(.units(2), idleness: .units(100))
    let partitions = (0..<2).map {
      PartitionProgress.Partition(index: $0, position: 0, end: nil, watermark: .unknown, lastActivity: 0)
    }
    var progress = PartitionProgress(partitions, strategy: strategy, endIsFinal: false)
    progress.advance(0, to: 1, latest: .at(50), now: 60)
    #expect(progress.settle() == nil)
    #expect(progress.checkIdleness(now: 99) == 100)
    #expect(progress.checkIdleness(now: 100) == 160)
    #expect(progress.settle() == mark(47))
    #expect(progress.checkIdleness(now: 160) == nil)
    #expect(progress.settle() == mark(47, idle: true))
    progress.advance(1, to: 1, latest: .at(30), now: 170)
    #expect(progress.settle() == mark(47))
  }

  @Test func marksSaturateAtTheEnds() {
    let strategy = WatermarkStrategy.boundedOutOfOrderness(.units(10))
    #expect(strategy.watermark(after: .min) == .min)
    #expect(strategy.watermark(after: .max) == .at(.max - 11))
    #expect(WatermarkStrategy.none.watermark(after: .at(5)) == .min)
  }
}
