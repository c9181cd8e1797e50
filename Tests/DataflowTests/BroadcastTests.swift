import Bytes
import Dataflow
import Synchronization
import Testing

/// What closures of a job saw, in order; for tests.
final class Seen: Sendable {
  private let seen = Mutex<[(Int64, Timestamp)]>([])
  func note(_ number: Int64, _ time: Timestamp) { seen.withLock { $0.append((number, time)) } }
  var numbers: [Int64] { seen.withLock { $0.map(\.0) } }
}

@Suite struct BroadcastTests {
  struct Refused: Error {}

  struct Rule: Sendable {
    var name: String
    var factor: Int64?
  }

  /// Emits, for each number, all rules that it saw; and, when event time has come to 10,000, the rules at the end.
  static func job(
    _ numbers: MemorySource<Int64>, _ rules: MemorySource<Rule>, _ sink: CollectSink<String>,
    _ failures: CollectSink<String>, holdsTimeBack: Bool = true
  ) throws -> Job {
    let dead = SideOutput<DeadLetter<Rule>>("dead")
    return try Job("job") { flow in
      let shared = flow.from(rules).broadcast(holdsTimeBack: holdsTimeBack)
      flow.from(numbers).keyed(by: { $0 % 20 }).connect(shared).process(
        "apply", rules: "rules", String.self, Int64.self, with: { $0.value("count", of: Int64.self) },
        emitting: String.self, onRuleError: .deadLetter(dead),
        onRecord: { number, count, _, call in
          count.update(default: 0) { $0 += 1 }
          call.setTimer(at: .at(10_000))
        },
        onRule: { rule, rules in
          rules[rule.name] = rule.factor.map { (rules[rule.name] ?? 1) &* 3 &+ $0 }
          if rule.name == "bad" {
            rules.removeAll()
            throw Refused()
          }
        },
        onTimer: { _, count, rules, call in
          let all = rules.keys.map { "\($0)=\(rules[$0] ?? 0)" }
          call.emit("\(try call.key(as: Int64.self)): \(count.value ?? 0) \(all)")
        }
      ).sink(sink)
      flow.from(dead).map { "\($0.element?.name ?? "") \($0.reason)" }.sink(failures)
    }
  }

  /// Every subtask gets the rules in one order (what becomes of them depends on it), and once, whatever crashes.
  @Test(arguments: 0..<12) func rulesAreTheSameOnEverySubtask(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 500)
    let store = try TestStore()
    let numbers = MemorySource<Int64>("numbers", partitions: 3)
    let rules = MemorySource<Rule>("rules")
    let (sink, failures) = (CollectSink<String>("out"), CollectSink<String>("failures"))
    var counts: [Int64: Int64] = [:]
    for index in 0..<200 {
      let number = Int64.random(in: 0..<60, using: &random)
      counts[number % 20, default: 0] += 1
      numbers.append(number, at: .at(Int64(index)), partition: index % 3)
    }
    var model: [String: Int64] = [:]
    var bad = 0
    for index in 0..<60 {
      let name = index % 17 == 3 ? "bad" : "r\(Int.random(in: 0..<6, using: &random))"
      let factor = Int.random(in: 0..<5, using: &random) == 0 ? nil : Int64.random(in: 0...9, using: &random)
      rules.append(Rule(name: name, factor: factor), at: .at(Int64(index)))
      if name == "bad" { bad += 1 } else { model[name] = factor.map { (model[name] ?? 1) &* 3 &+ $0 } }
    }
    try disturb(try Self.job(numbers, rules, sink, failures), store, &random)
    let all = model.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    #expect(sink.committed.sorted() == counts.map { "\($0.key): \($0.value) \(all)" }.sorted())
    #expect(failures.committed == Array(repeating: "bad Refused()", count: bad))
  }

  @Test(arguments: [1, 3]) func aBroadcastNeedNotHoldTimeBack(parallelism: Int) throws {
    for holdsTimeBack in [true, false] {
      let store = try TestStore()
      let numbers = MemorySource<Int64>("numbers")
      let rules = MemorySource<Rule>("rules")
      let (sink, failures) = (CollectSink<String>("out"), CollectSink<String>("failures"))
      rules.append(Rule(name: "a", factor: 1), at: .at(0))
      numbers.append(1, at: .at(0))
      numbers.append(2, at: .at(20_000))
      try JobRunner(
        try Self.job(numbers, rules, sink, failures, holdsTimeBack: holdsTimeBack), checkpoints: store.checkpoints,
        options: RunOptions(mode: .toEnd, parallelism: parallelism)
      ).runBlocking()
      // What the timers see of the rules depends on who came first; that they fire does not.
      #expect(sink.committed.map { $0.prefix(4) }.sorted() == (holdsTimeBack ? [] : ["1: 1", "2: 1"]))
    }
  }
}
