import Bytes
import Testing

@testable import Dataflow

@Suite struct WindowGridTests {
  private func grids() -> [WindowGrid] {
    let zone = TimeZoneTable(offset: .seconds(3600), changes: [(.at(1_774_746_000_000_000), .seconds(7200))])
    return [
      WindowGrid(slices: .even(size: 1, offset: 0), windows: .single),
      WindowGrid(slices: .even(size: 1000, offset: 7), windows: .sliding(count: 5)),
      WindowGrid(slices: .even(size: .max, offset: 3), windows: .cumulative(count: 2)),
      WindowGrid(slices: .paired(period: 1000, first: 300, offset: 11), windows: .pairedSliding(periods: 2)),
      WindowGrid(slices: .days(zone), windows: .single),
    ]
  }

  private func times(_ random: inout Random) -> [Int64] {
    var times: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max, 1_774_746_000_000_000]
    for _ in 0..<200 {
      times.append(Int64.random(in: -20_000...20_000, using: &random))
      times.append(Int64.random(in: .min ... .max, using: &random))
    }
    return times
  }

  @Test func everyTimeLiesInItsSliceAndSlicesTouch() {
    var random = Random(1)
    for grid in grids() {
      for time in times(&random) {
        let slice = grid.slice(at: time)
        #expect(slice.contains(time))
        if slice.last < .max {
          let next = grid.slice(at: slice.last + 1)
          #expect(next.first == slice.last + 1 && next.number > slice.number, "\(grid) \(time) \(slice) \(next)")
        }
        // Numbers must fit the width that they have in keys.
        let word = KeyColumn.ordered(slice.number, width: grid.numberWidth)
        var keys = KeyColumn()
        var base = KeyColumn()
        base.append("key")
        keys.append(slice.number, width: grid.numberWidth, before: base, at: 0)
        keys.withBytes(at: 0) {
          #expect(KeyColumn.number($0, width: grid.numberWidth) == slice.number, "\(word)")
        }
      }
    }
  }

  @Test func aSliceIsOverWhenItsLastMomentIs() {
    var random = Random(2)
    for grid in grids() {
      #expect(grid.lastOver(at: .min) == nil)
      #expect(grid.lastOver(at: .max) == .max)
      for time in times(&random) where time > .min && time < .max {
        guard let over = grid.lastOver(at: .at(time)) else { continue }
        #expect(grid.slice(over).last <= time)
        #expect(grid.slice(at: time).last <= time || over < grid.slice(at: time).number)
      }
    }
  }

  @Test func numbersOrderAsTheirBytesDo() {
    var random = Random(3)
    var base = KeyColumn()
    base.append(Int64(5))
    base.append("a key that does not fit into the place that there is")
    for width in [7, 8] {
      let limit: Int64 = width == 7 ? 1 << 55 - 1 : .max
      for _ in 0..<300 {
        let (left, right) = (
          Int64.random(in: -limit...limit, using: &random), Int64.random(in: -limit...limit, using: &random)
        )
        for key in 0..<2 {
          var keys = KeyColumn()
          for number in [left, right] { keys.append(number, width: width, before: base, at: key) }
          let bytes = (0..<2).map { index in keys.withBytes(at: index) { [UInt8]($0) } }
          #expect(bytes[0].lexicographicallyPrecedes(bytes[1]) == (left < right))
          #expect(keys.hash(at: 0).keyGroup == base.hash(at: key).keyGroup)
          // The same key made from its bytes is the same in every way.
          var again = KeyColumn()
          bytes[0].withUnsafeBytes { again.append(numbered: $0, width: width) }
          #expect(again.hash(at: 0).value == keys.hash(at: 0).value)
          #expect(again.withBytes(at: 0) { [UInt8]($0) } == bytes[0])
        }
      }
    }
  }

  @Test func mergingGroupsByKey() {
    var random = Random(4)
    let table = MergeTable<Int>()
    for _ in 0..<3 {
      table.removeAll()
      var expected: [[UInt8]: Int] = [:]
      var order: [[UInt8]] = []
      for _ in 0..<2000 {
        let number = Int.random(in: 0..<400, using: &random)
        let key = [UInt8](String(repeating: "x", count: number % 23).utf8) + [UInt8(number & 0xFF), UInt8(number >> 8)]
        if expected[key] == nil { order.append(key) }
        expected[key, default: 0] += 1
        let place = key.withUnsafeBytes { table.place(of: $0) }
        if place == table.values.count { table.values.append(1) } else { table.values[place] += 1 }
      }
      #expect(table.values == order.map { expected[$0] ?? 0 })
      for (place, key) in order.enumerated() { #expect(table.keys.withBytes(at: place) { [UInt8]($0) } == key) }
    }
  }
}
