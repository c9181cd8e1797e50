import LMDB
import Testing

@testable import Millrace

/// What a store holds is free again when it and its handles have gone.
@Suite struct ReleaseTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(.timeLimit(.minutes(1)), arguments: ["opened", "read", "ran", "failed"])
  func aStoreThatIsGoneHoldsNoFileOpen(after use: String) async throws {
    weak var environment: Environment?
    do {
      let shop = try Shop(folder.file(use))
      environment = shop.store.environment
      try await shop.sales.append(Sale("a", 1))
      let output = try shop.store.topic("output", of: Sale.self, key: \.key)
      let job = try Job("job") { flow in
        let sales = flow.from(shop.sales).map { sale in
          if use == "failed" { throw ErrorsInFoldsTests.Refused() }
          return sale
        }
        sales.append(to: output)
        sales.keyed(by: \.key).fold(into: shop.totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
        sales.keyed(by: \.key).fold("sums", initial: Int64(0)) { $0 += $1.amount }.forEach("end") { _ in }
      }
      if use == "read" { _ = try shop.rows() }
      if use == "ran" { try await shop.run(job, parallelism: 2) }
      if use == "failed" { await #expect(throws: DataflowError.self) { try await shop.run(job) } }
    }
    // Threads that end let go of what they held a moment after they said so.
    while environment != nil { await Task.yield() }
  }
}
