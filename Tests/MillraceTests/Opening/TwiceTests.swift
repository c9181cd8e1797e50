import Foundation
import Millrace
import Testing

/// One writer at a time, any number of readers beside it.
@Suite struct TwiceTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aSecondWriterOfThisProcessIsRefusedUntilTheFirstCloses() async throws {
    let path = folder.file("store")
    let first = try Shop(path)
    let error = await failure(StoreError.self) { try Store.open(at: path) }
    #expect(error?.code == .alreadyOpen)
    #expect(error?.isRetriable == true)
    #expect(error?.description.contains("this process") == true)
    try await first.sales.append(Sale("a", 1))
    first.store.close()
    first.store.close()
    // The handles of the first are still there: they must not keep the second from opening.
    let second = try Shop(path)
    #expect(try second.sales.log.offsets().map(\.upperBound).reduce(0, +) == 1)
    #expect(await failure(EventLogError.self) { try await first.sales.append(Sale("a", 1)) }?.code == .closed)
    #expect(await failure(StoreError.self) { try first.rows() }?.code == .closed)
    #expect(await failure(StoreError.self) { try await first.run(try first.job()) }?.code == .closed)
    #expect(await failure(StoreError.self) { try await first.store.maintain() }?.code == .closed)
    try await second.sales.append(Sale("b", 1))
    try await second.run(try second.job())
    #expect(try second.rows().count == 2)
  }

  @Test func aWriterInAnotherProcessIsNamed() async throws {
    let path = folder.file("store")
    try Shop(path).store.close()
    // Another process that holds the lock as a writer does; it ends when its input does.
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    other.arguments = ["-n", path + "/LOCK", "sh", "-c", "echo 4711 > '\(path)/LOCK'; echo ready; cat"]
    let (input, output) = (Pipe(), Pipe())
    other.standardInput = input
    other.standardOutput = output
    do { try other.run() } catch { return }
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "ready\n")
    let error = await failure(StoreError.self) { try Store.open(at: path) }
    #expect(error?.code == .alreadyOpen)
    #expect(error?.description.contains("process 4711") == true)
    _ = try Store.open(at: path, Store.Options(access: .readOnly))
    try input.fileHandleForWriting.close()
    other.waitUntilExit()
    _ = try Shop(path)
  }

  @Test func manyThatCreateAStoreAtOnceMakeOne() async throws {
    for round in 0..<10 {
      let path = folder.file("store-\(round)")
      let opened = try await withThrowingTaskGroup(of: Store?.self) { group in
        for _ in 0..<4 {
          group.addTask {
            do {
              return try Store.open(at: path)
            } catch let error as StoreError where error.code == .alreadyOpen { return nil }
          }
        }
        var opened: [Store] = []
        for try await store in group { if let store { opened.append(store) } }
        return opened
      }
      #expect(opened.count == 1)
    }
  }

  @Test func readersSeeWholeCheckpointsAndChangeNothing() async throws {
    let path = folder.file("store")
    let shop = try Shop(path)
    let reader = try Store.open(at: path, Store.Options(access: .readOnly))
    let sales = try reader.topic("sales", of: Sale.self, key: \.key, partitions: 4)
    let totals = try reader.view("totals", of: Total.self, key: \.key)
    #expect(try reader.rows(totals).isEmpty)
    let position = try await shop.sales.append(Sale("a", 5))
    try await shop.run(try shop.job())
    try await reader.waitFor(position, in: sales)
    #expect(try reader.rows(totals)["a"]?.sum == 5)
    #expect(await failure(StoreError.self) { try await reader.run(try shop.job()) }?.code == .readOnly)
    #expect(await failure(StoreError.self) { try reader.dropView("totals") }?.code == .readOnly)
    #expect(await failure(StoreError.self) { try reader.reset(job: "totals") }?.code == .readOnly)
    #expect(await failure(EventLogError.self) { try await sales.append(Sale("a", 1)) }?.code == .readOnly)
    #expect(await failure(EventLogError.self) { try reader.topic("new", of: Sale.self, key: \.key) } != nil)
  }

  @Test func topicsKeepTheirStoreOpen() async throws {
    func topic() throws -> Topic<Sale> { try Shop(folder.file("store")).sales }
    let sales = try topic()
    try await sales.append(Sale("a", 1))
    #expect(await failure(StoreError.self) { try Store.open(at: folder.file("store")) }?.code == .alreadyOpen)
  }
}
