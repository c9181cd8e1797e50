import Bytes
import Dataflow
import Testing

/// A map much larger than the memory for it, walked in ranges while it changes.
@Suite struct MapStateTests {
  enum Action: Sendable {
    case set(Int64, Int64)
    case remove(Int64)
    case walk(from: Int64?, before: Int64?, reversed: Bool, limit: Int)
  }

  @Test(arguments: 0..<4) func rangesOfALargeMapEqualASortedArray(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 31)
    let store = try TestStore()
    let source = MemorySource<Action>("actions")
    let sink = CollectSink<[Int64]>("out")
    var model: [Int64: Int64] = [:]
    var expected: [[Int64]] = []
    for _ in 0..<2_500 {
      let key = Int64.random(in: -900...900, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<14:
        source.append(.set(key, key &* 3), at: .at(0))
        model[key] = key &* 3
      case 14..<18:
        source.append(.remove(key), at: .at(0))
        model[key] = nil
      default:
        let from = Bool.random(using: &random) ? key : nil
        let before = Bool.random(using: &random) ? key + Int64.random(in: -10...900, using: &random) : nil
        let (reversed, limit) = (Bool.random(using: &random), Int.random(in: 1...150, using: &random))
        source.append(.walk(from: from, before: before, reversed: reversed, limit: limit), at: .at(0))
        let keys = model.keys.filter { $0 >= from ?? .min && $0 < before ?? .max }
          .sorted(by: reversed ? { $0 > $1 } : { $0 < $1 })
        expected.append(Array(keys.prefix(limit)))
      }
    }
    let job = try Job("map") { flow in
      flow.from(source).keyed(by: { _ in "the key" }).process(
        "op", with: { $0.map("map", Int64.self, Int64.self) }, emitting: [Int64].self,
        onRecord: { action, map, call in
          switch action {
          case .set(let key, let value): try map.set(value, for: key)
          case .remove(let key): try map.remove(key)
          case .walk(let from, let before, let reversed, let limit):
            var found: [Int64] = []
            try map.visit(from: from, before: before, reversed: reversed) { key, value in
              #expect(value == key &* 3)
              found.append(key)
              return found.count < limit
            }
            call.emit(found)
          }
        }
      ).sink(sink)
    }
    for round in 0..<4 {
      let driver = try JobDriver(
        job, checkpoints: store.checkpoints,
        options: RunOptions(
          mode: .toEnd, checkpoints: .everyRecords(Int.random(in: 50...900, using: &random)),
          batchSize: Int.random(in: 1...300, using: &random), stateMemory: 1))
      let steps = round == 3 ? Int.max : Int.random(in: 1...60, using: &random)
      var step = 0
      while step < steps && !driver.isFinished {
        try driver.step()
        step += 1
      }
      if driver.isFinished { break }
      driver.crash()
    }
    #expect(sink.committed == expected)
  }

  /// A record fails after it has touched more entries than memory has room for.
  @Test func aFailingRecordIsUndoneHoweverMuchItTouched() throws {
    struct Refused: Error {}
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    for number: Int64 in 0..<6 { source.append(number, at: .at(0)) }
    let job = try Job("map") { flow in
      flow.from(source).keyed(by: { _ in 0 }).process(
        "op", with: { $0.map("map", Int64.self, Int64.self) }, emitting: Int64.self, onError: .skip,
        onRecord: { number, map, call in
          for entry in 0..<Int64(3_000) { try map.update(entry) { $0 = ($0 ?? 0) + 1 } }
          if number % 2 == 1 { throw Refused() }
          var sum: Int64 = 0
          try map.visit {
            sum += $1
            return true
          }
          call.emit(sum)
        }
      ).sink(sink)
    }
    let driver = try JobDriver(
      job, checkpoints: store.checkpoints,
      options: RunOptions(mode: .toEnd, checkpoints: .everyRecords(1), batchSize: 1, stateMemory: 1))
    try driver.runUntilIdle()
    #expect(sink.committed == [3_000, 6_000, 9_000])
  }
}
