import Bytes
import Dataflow
import LMDB
import Records
import Tables
import Testing

/// Keyed state against a dictionary that is committed with each checkpoint.
struct KeyedStateModelTests {
  private static func key(_ generator: inout StateGenerator) -> String {
    let number = Int.random(in: 0..<4_000, using: &generator)
    switch number % 8 {
    case 0 where number < 100: return ""
    case 1: return String(repeating: "x", count: number / 8)
    case 2: return "a key above fifteen bytes \(number)"
    default: return "k\(number)"
    }
  }

  @Test(arguments: 0..<8)
  func stateEqualsADictionaryAcrossEpochsEvictionsAndRestarts(_ round: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("stateEqualsADictionaryAcrossEpochsEvictionsAndRestarts round \(round) seed \(seed)")
    var generator = StateGenerator(seed: seed)
    var options = TableSpace.Options()
    options.sweepFloor = 4_000
    options.sweepCeiling = 20_000
    options.blockBytes = 1_000
    options.chunkBytes = 2_000
    let file = try StateFile(options: options)
    var state = file.state(try file.table("s", try Codec<String>.record), memoryBudget: round % 2 == 0 ? .max : 1)
    var model: [String: String] = [:]
    var committed: [String: String] = [:]
    var waiting: [(part: any SealedPart, model: [String: String])] = []
    for _ in 0..<150 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<6:
        let keys = (0..<Int.random(in: 1...300, using: &generator)).map { _ in Self.key(&generator) }
        let choices = keys.map { _ in Int.random(in: 0..<6, using: &generator) }
        try state.update(column(keys), 0..<keys.count) { index, value in
          #expect(value == model[keys[index]])
          switch choices[index] {
          case 0: value = nil
          case 1: break
          default: value = (value ?? "").suffix(20) + "\(index)"
          }
          model[keys[index]] = value
        }
      case 6:
        let keys = (0..<100).map { _ in Self.key(&generator) }
        let values = try state.values(keys)
        #expect(values == keys.map { model[$0] })
      case 7, 8:
        if let part = try state.seal() { waiting.append((part, model)) }
        if waiting.count == 3 || Bool.random(using: &generator), !waiting.isEmpty {
          let (part, snapshot) = waiting.removeFirst()
          struct Failed: Error {}
          // A failed transaction is repeated with the same outcome.
          #expect(throws: Failed.self) {
            try file.environment.write { transaction in
              try part.write(in: transaction, checkpoint: 1)
              throw Failed()
            }
          }
          try file.checkpoint([part])
          committed = snapshot
        }
      default:
        if Int.random(in: 0..<4, using: &generator) == 0 {
          waiting = []
          try file.reopen()
          state = file.state(
            try file.table("s", try Codec<String>.record), memoryBudget: round % 2 == 0 ? .max : 1)
          model = committed
        }
      }
    }
    // What is committed was evicted.
    if round % 2 == 1 && waiting.isEmpty { #expect(state.count <= 1_024 + state.changedCount + 2_000) }
  }

  @Test func aLookUpStoresNothingAndATombstoneRemoves() throws {
    let file = try StateFile()
    let table = try file.table("s", try Codec<Int64>.record)
    var state = file.state(table)
    #expect(try state.values([1, 2, 3]) == [nil, nil, nil])
    try state.update(column([1, 2]), 0..<2) { _, _ in }
    let nothing = try state.seal()
    #expect(nothing == nil)
    try state.update(column([1, 2, 3]), 0..<3) { index, value in value = Int64(index) }
    try file.checkpoint([try #require(try state.seal())])
    try state.update(column([2]), 0..<1) { _, value in value = nil }
    try file.checkpoint([try #require(try state.seal())])
    state = file.state(table)
    #expect(try state.values([1, 2, 3]) == [0, nil, 2])
  }

  @Test func entriesOfDeletedKeysAreLetGo() throws {
    let file = try StateFile()
    let state = file.state(try file.table("s", try Codec<String>.record))
    for epoch in 0..<40 {
      let keys = (0..<1_000).map { Int64(epoch * 1_000 + $0) }
      try state.update(column(keys), 0..<1_000) { _, value in value = "open" }
      if epoch > 0 {
        let closed = keys.map { $0 - 1_000 }
        try state.update(column(closed), 0..<1_000) { _, value in
          #expect(value == "open")
          value = nil
        }
      }
      if let part = try state.seal() { try file.checkpoint([part]) }
    }
    #expect(state.count <= 10_000)
    let last = try state.values((39_000..<40_000).map { Int64($0) })
    #expect(last.allSatisfy { $0 == "open" })
    let before = try state.values((0..<1_000).map { Int64($0) })
    #expect(before.allSatisfy { $0 == nil })
  }

  @Test func aFailedRecordIsUndoneAndTheOthersStay() throws {
    let file = try StateFile()
    let state = file.state(try file.table("s", try Codec<Int64>.record))
    let keys = column([1, 2, 1, 2, 3] as [Int64])
    struct Bad: Error {}
    var failed: [Int] = []
    let recover = { (index: Int, _: any Error) in failed.append(index) }
    try state.update(keys, 0..<5, recover: recover) { index, value in
      value = (value ?? 0) + 10
      if index == 2 || index == 4 { throw Bad() }
    }
    #expect(failed == [2, 4])
    #expect(try state.values([1, 2, 3] as [Int64]) == [10, 20, nil])
    state.isUndoable = true
    try state.prepare(keys, 0..<5)
    state.change(at: 0) { $0 = 99 }
    state.change(at: 4) { $0 = 98 }
    state.undoChanges()
    state.change(at: 1) { $0 = 97 }
    state.keepChanges()
    state.undoChanges()
    #expect(try state.values([1, 2, 3] as [Int64]) == [10, 97, nil])
  }

  @Test func subtasksOfAnyParallelismReadTheSameTable() throws {
    let file = try StateFile()
    let table = try file.table("s", try Codec<Int64>.record)
    let keys = (0..<1_000).map { Int64($0) }
    let all = column(keys)
    var parts: [any SealedPart] = []
    for subtask in 0..<4 {
      let state = file.state(table)
      var own = KeyColumn()
      var numbers: [Int64] = []
      for index in 0..<all.count
      where KeyHash.subtask(ofKeyGroup: all.hash(at: index).keyGroup, parallelism: 4) == subtask {
        own.append(from: all, at: index)
        numbers.append(keys[index])
      }
      try state.update(own, 0..<own.count) { index, value in value = numbers[index] * 3 }
      parts.append(try #require(try state.seal()))
    }
    try file.checkpoint(parts)
    #expect(try file.state(table).values(keys) == keys.map { $0 * 3 })
  }

  @Test func valuesOfAnEarlierTypeAreReadByTheirOwnSchema() throws {
    let file = try StateFile()
    var narrow = try file.table("s", try Codec<Int32>.record)
    let first = file.state(narrow)
    try first.update(column([1]), 0..<1) { _, value in value = -7 }
    try file.checkpoint([try #require(try first.seal())])
    let wide = file.state(try file.table("s", try Codec<Int64>.record))
    try wide.update(column([2]), 0..<1) { _, value in value = 1 << 40 }
    try file.checkpoint([try #require(try wide.seal())])
    #expect(try file.state(try file.table("s", try Codec<Int64>.record)).values([1, 2]) == [-7, 1 << 40])
    #expect(throws: RecordsError.self) { narrow = try file.table("s", try Codec<Int32>.record) }
  }
}
