import Bytes
import Dataflow
import Records
import Testing

/// Operators with states of every kind against plain dictionaries and arrays: random records, failures, crashes,
/// parallelism.
@Suite struct PartsModelTests {
  struct Refused: Error {}

  /// What a record does to its key's states.
  struct Action: Sendable {
    var key: String
    var seed: UInt64
    var fails: Bool
    var time: Int64
  }

  /// What a key's states would be in plain memory. The same steps run over it and over the real ones.
  struct Plain {
    var value: Int64?
    var list: [Int64] = []
    var map: [String: Int64] = [:]
    var greatest: Int64?
    var sum: (count: Int64, total: Int64)?
  }

  struct Mean: Record {
    var count: Int64
    var total: Int64
  }

  static let mean = Aggregation<Int64, Mean, Double>(
    initial: Mean(count: 0, total: 0),
    add: {
      $0.count += 1
      $0.total += $1
    },
    merge: {
      $0.count += $1.count
      $0.total += $1.total
    }, result: { Double($0.total) / Double($0.count) })

  private static func names(_ random: inout Random) -> String {
    let number = Int.random(in: 0..<40, using: &random)
    // Short, long, empty, and such that one is the beginning of another.
    return number == 0 ? "" : number % 7 == 0 ? "a long name of an entry \(number)" : "\(number)"
  }

  /// One step on plain memory; returns what it emits.
  private static func step(_ action: Action, _ plain: inout Plain) -> [String] {
    var random = Random(action.seed)
    var out: [String] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let number = Int64.random(in: -50...50, using: &random)
      let name = names(&random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: plain.value = plain.value.map { $0 + number } ?? number
      case 1: plain.value = nil
      case 2, 3: plain.list.append(number)
      case 4: out.append("first \(plain.list.isEmpty ? "none" : "\(plain.list.removeFirst())")")
      case 5: out.append("last \(plain.list.popLast().map(String.init) ?? "none")")
      case 6, 7: plain.map[name, default: 0] += number
      case 8: out.append("removed \(plain.map.removeValue(forKey: name).map(String.init) ?? "none")")
      case 9:
        let range = plain.map.filter { $0.key.utf8.lexicographicallyPrecedes(name.utf8) }
          .sorted { $1.key.utf8.lexicographicallyPrecedes($0.key.utf8) }
        out.append("below \(range.prefix(5).map { "\($0.key)=\($0.value)" })")
      case 10:
        plain.greatest = max(plain.greatest ?? number, number)
        plain.sum = ((plain.sum?.count ?? 0) + 1, (plain.sum?.total ?? 0) + number)
      default:
        if number > 40 {
          plain.map = [:]
          plain.list = []
        }
      }
    }
    let sorted = plain.map.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    out.append(
      "\(action.key): \(plain.value.map(String.init) ?? "nil") \(plain.list) "
        + "\(sorted.map { "\($0.key)=\($0.value)" }) \(plain.greatest.map(String.init) ?? "nil") "
        + "\(plain.sum.map { Double($0.total) / Double($0.count) }.map { "\($0)" } ?? "nil")")
    return out
  }

  private static func job(
    _ source: MemorySource<Action>, _ sink: CollectSink<String>, _ side: CollectSink<String>,
    _ failures: CollectSink<String>
  ) throws -> Job {
    let notes = SideOutput<String>("notes")
    let dead = SideOutput<DeadLetter<Action>>("dead")
    return try Job("parts") { flow in
      flow.from(source).keyed(by: \.key).process(
        "all",
        with: { parts in
          (
            value: parts.value("value", of: Int64.self), list: parts.list("list", of: Int64.self),
            map: parts.map("map", String.self, Int64.self),
            greatest: parts.reducing("greatest", of: Int64.self) { max($0, $1) },
            mean: parts.aggregating("mean", Self.mean), notes: parts.output(notes)
          )
        }, emitting: String.self, onError: .deadLetter(dead),
        onRecord: { action, parts, call in
          var random = Random(action.seed)
          for _ in 0..<Int.random(in: 1...4, using: &random) {
            let number = Int64.random(in: -50...50, using: &random)
            let name = names(&random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0: parts.value.update(default: 0) { $0 += number }
            case 1: parts.value.value = nil
            case 2, 3: try parts.list.append(number)
            case 4: parts.notes.emit("first \(try parts.list.removeFirst().map(String.init) ?? "none")")
            case 5: parts.notes.emit("last \(try parts.list.removeLast().map(String.init) ?? "none")")
            case 6, 7: try parts.map.update(name) { $0 = ($0 ?? 0) + number }
            case 8: parts.notes.emit("removed \(try parts.map.remove(name).map(String.init) ?? "none")")
            case 9:
              var range: [String] = []
              try parts.map.visit(before: name, reversed: true) { key, value in
                range.append("\(key)=\(value)")
                return range.count < 5
              }
              parts.notes.emit("below \(range)")
            case 10:
              try parts.greatest.add(number)
              try parts.mean.add(number)
            default:
              if number > 40 {
                try parts.map.removeAll()
                try parts.list.removeAll()
              }
            }
          }
          let map = try parts.map.elements().map { "\($0.key)=\($0.value)" }
          call.emit(
            "\(action.key): \(parts.value.value.map(String.init) ?? "nil") \(try parts.list.elements()) \(map) "
              + "\(parts.greatest.value.map(String.init) ?? "nil") "
              + "\(try parts.mean.result().map { "\($0)" } ?? "nil")")
          if action.fails { throw Refused() }
        }
      ).sink(sink)
      flow.from(notes).sink(side)
      flow.from(dead).compactMap { $0.element?.key }.sink(failures)
    }
  }

  @Test(arguments: 0..<20) func everyStateEqualsPlainMemory(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 900)
    let store = try TestStore()
    let partitions = Int.random(in: 1...3, using: &random)
    let source = MemorySource<Action>("actions", partitions: partitions)
    let (sink, side, failures) = (
      CollectSink<String>("out"), CollectSink<String>("side"), CollectSink<String>("failures")
    )
    let keys = Int.random(in: 1...8, using: &random)
    var plain: [String: Plain] = [:]
    var (out, notes, dead): ([String], [String], [String]) = ([], [], [])
    for index in 0..<300 {
      let number = Int.random(in: 0..<keys, using: &random)
      let key = number == 0 ? "" : number == 1 ? String(repeating: "k", count: 300) : "k\(number)"
      let action = Action(
        key: key, seed: random.next(), fails: Int.random(in: 0..<6, using: &random) == 0, time: Int64(index))
      source.append(action, at: .at(action.time), partition: number % partitions)
      if action.fails {
        dead.append(key)
      } else {
        var lines = Self.step(action, &plain[key, default: Plain()])
        out.append(lines.removeLast())
        notes += lines
      }
    }
    try disturb(try Self.job(source, sink, side, failures), store, &random)
    #expect(sink.committed.sorted() == out.sorted())
    #expect(side.committed.sorted() == notes.sorted())
    #expect(failures.committed.sorted() == dead.sorted())
  }
}
