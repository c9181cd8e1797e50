import LMDB
import Tables
import Testing

/// Tables against a plain dictionary, over random operations.
struct ModelTests {
  /// Small limits, so that every mechanism runs often.
  private static func options(_ generator: inout SeededGenerator) -> TableSpace.Options {
    var options = TableSpace.Options()
    options.sweepFloor = [500, 5_000, 50_000].randomElement(using: &generator) ?? 500
    options.sweepCeiling = options.sweepFloor * 4
    options.combineCount = Int.random(in: 2...5, using: &generator)
    options.maximumRuns = Int.random(in: 3...10, using: &generator)
    options.chunkBytes = [300, 2_000, 30_000].randomElement(using: &generator) ?? 300
    options.blockBytes = [200, 1_000, 16_368].randomElement(using: &generator) ?? 200
    return options
  }

  /// Keys of a small space, so that they repeat; empty, long and hardly different ones among them.
  private static func key(_ generator: inout SeededGenerator) -> Key {
    let number = Int.random(in: 0..<400, using: &generator)
    switch number % 10 {
    case 0: return Key([])
    case 1: return Key([UInt8](repeating: 0xFF, count: number % 7))
    case 2: return Key([UInt8](repeating: 7, count: 600) + [UInt8(number / 10)])
    case 3: return Key([UInt8](repeating: 9, count: 500 + number / 10))
    case 4: return Key([UInt8](repeating: 0, count: number / 10))
    case 5: return Key([5, UInt8(number / 2)] + [UInt8](repeating: 1, count: 5_000))
    default: return Key("key-\(number)")
    }
  }

  private static func value(_ key: Key, _ generator: inout SeededGenerator) -> [UInt8]? {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1, 2: nil
    case 3: []
    case 4: [UInt8](repeating: UInt8.random(in: 0...255, using: &generator), count: 3_000)
    default: (0..<8).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
  }

  @Test(arguments: 0..<12)
  func aTableEqualsADictionary(_ round: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("aTableEqualsADictionary round \(round) seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let options = Self.options(&generator)
    let scratch = try Scratch()
    var environment = try scratch.open()
    var space = try TableSpace(environment: environment, options: options)
    let table = try environment.write { try space.create(named: "model", in: $0) }
    var model: [Key: [UInt8]] = [:]
    for step in 0..<120 {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0:
        environment = try scratch.open()
        space = try TableSpace(environment: environment, options: options)
      case 1...14:
        var changes: [Key: [UInt8]?] = [:]
        for _ in 0..<Int.random(in: 1...60, using: &generator) {
          let key = Self.key(&generator)
          changes[key] = .some(Self.value(key, &generator))
        }
        let isKept = Int.random(in: 0..<10, using: &generator) > 0
        let run = run(changes, chunkBytes: options.chunkBytes)
        let budget = MaintenanceBudget(
          bytes: Int.random(in: 100...20_000, using: &generator),
          sweeps: Int.random(in: 0..<5, using: &generator) > 0)
        let order = Bool.random(using: &generator)
        struct GiveUp: Error {}
        do {
          try environment.write { transaction in
            if order { try space.append(run, to: table, in: transaction) }
            _ = try space.maintain(in: transaction, budget: budget)
            if !order { try space.append(run, to: table, in: transaction) }
            if !isKept { throw GiveUp() }
          }
          for (key, value) in changes { model[key] = value }
        } catch is GiveUp {}
      default:
        _ = try environment.write { try space.maintain(in: $0) }
      }
      if step % 10 == 9 { try check(space, table, model, &generator) }
    }
    // Everything can be merged away into the base.
    var rest = options
    rest.sweepFloor = 0
    rest.sweepCeiling = 0
    space = try TableSpace(environment: environment, options: rest)
    var rounds = 0
    while try environment.write({ try space.maintain(in: $0) }).hasMore { rounds += 1 }
    #expect(rounds < 1_000)
    #expect(try environment.read { try space.reader(table, in: $0).runs.isEmpty })
    try check(space, table, model, &generator)
    #expect(space.damages.isEmpty)
  }

  private func check(
    _ space: TableSpace, _ table: TableID, _ model: [Key: [UInt8]], _ generator: inout SeededGenerator
  ) throws {
    let sorted = model.sorted { $0.key < $1.key }
    var bounds = [Self.key(&generator), Self.key(&generator)].sorted()
    if Bool.random(using: &generator) { bounds[1] = Key(bounds[1].bytes + [0]) }
    let probes = (0..<30).map { _ in Self.key(&generator) }
    try space.environment.read { transaction in
      let reader = try space.reader(table, in: transaction)
      for key in probes {
        let found = try reader.get(key, in: transaction)
        #expect(found == model[key])
      }
      let rows = try reader.rows(in: transaction)
      #expect(rows.map(\.key) == sorted.map(\.key) && rows.map(\.value) == sorted.map(\.value))
      let backwards = try reader.rows(reverse: true, in: transaction)
      #expect(backwards.map(\.key) == sorted.reversed().map(\.key))
      let within = sorted.filter { $0.key >= bounds[0] && $0.key < bounds[1] }.map(\.key)
      let forwards = try reader.rows(from: bounds[0], to: bounds[1], in: transaction)
      #expect(forwards.map(\.key) == within)
      let against = try reader.rows(from: bounds[0], to: bounds[1], reverse: true, in: transaction)
      #expect(against.map(\.key) == within.reversed())
      let report = try space.verify(table, in: transaction)
      #expect(report.damages.isEmpty, "\(report.damages)")
      #expect(report.runs <= 16)
      #expect(reader.baseEntryCount == report.blockEntries)
    }
  }
}
