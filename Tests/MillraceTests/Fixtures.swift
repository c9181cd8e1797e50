import Foundation
import Millrace
import Testing

/// An event of the tests: an amount for a key at a time.
struct Sale: Record, Equatable {
  var key: String
  var amount: Int64
  var at: Timestamp

  init(_ key: String, _ amount: Int64, at: Int64 = 0) {
    self.key = key
    self.amount = amount
    self.at = Timestamp(microseconds: at)
  }
}

/// A row of the tests: what was sold of a key.
struct Total: Record, Equatable {
  var key: String
  var sum: Int64
  var count: Int64
  var last: Timestamp

  init(key: String) {
    self.key = key
    sum = 0
    count = 0
    last = .min
  }

  mutating func add(_ sale: Sale) {
    sum &+= sale.amount
    count += 1
    last = max(last, sale.at)
  }

  static func model(_ sales: [Sale]) -> [String: Total] {
    var rows: [String: Total] = [:]
    for sale in sales { rows[sale.key, default: Total(key: sale.key)].add(sale) }
    return rows
  }
}

/// A store with a topic of sales, a view of totals, and the job from one to the other.
struct Shop {
  let store: Store
  let sales: Topic<Sale>
  let totals: View<Total>

  init(_ path: String, _ options: Store.Options = Store.Options(), partitions: Int = 4) throws {
    store = try Store.open(at: path, options)
    sales = try store.topic("sales", of: Sale.self, key: \.key, timestamp: \.at, partitions: partitions)
    totals = try store.view("totals", of: Total.self, key: \.key, indexes: [.on(\.count)])
  }

  func job(_ name: String = "totals", onUndecodable: UndecodablePolicy = .fail) throws -> Job {
    try Job(name) { flow in
      flow.from(sales, onUndecodable: onUndecodable).keyed()
        .fold(into: totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
    }
  }

  func run(_ job: Job, parallelism: Int = 1) async throws {
    try await store.run(job, RunOptions(mode: .toEnd, parallelism: parallelism))
  }

  func rows() throws -> [String: Total] { try store.rows(totals) }
}

extension Store {
  /// The rows of a view by key; its index must agree with them.
  func rows(_ view: View<Total>) throws -> [String: Total] {
    try read { snapshot in
      let rows = try snapshot[view].all.rows()
      for count in Set(rows.map(\.count)).prefix(20) {
        let found = try snapshot[view].where(\.count, equals: count).rows()
        #expect(Set(found.map(\.key)) == Set(rows.filter { $0.count == count }.map(\.key)))
      }
      return Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0) })
    }
  }
}

/// The error of type `E` that `body` throws, recorded as an issue if there is none.
func failure<E: Error, R>(_: E.Type = E.self, _ body: () async throws -> R) async -> E? {
  do {
    _ = try await body()
    Issue.record("nothing was thrown")
  } catch let error as E {
    return error
  } catch {
    Issue.record("another error was thrown: \(error)")
  }
  return nil
}

/// The first error of type `E` among an error of a job and its causes.
func cause<E: Error>(_: E.Type = E.self, of error: (any Error)?) -> E? {
  var next = error
  while let error = next {
    if let found = error as? E { return found }
    next = (error as? DataflowError)?.cause ?? (error as? StoreError)?.cause ?? (error as? EventLogError)?.cause
  }
  return nil
}

extension RandomNumberGenerator where Self == Dice {
  static func seeded(_ seed: UInt64) -> Dice { Dice(state: seed) }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed.
struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
