import Foundation
import Millrace
import Testing

@Suite struct BackupTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Copies made while a job and its producer run: each opens, none of its positions is beyond its own log, and the job
  /// goes on in it to the same view.
  @Test func copiesOfARunningStoreAreWhole() async throws {
    let store = try Store.open(at: folder.file("store"))
    let topic = try store.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 2)
    let view = try store.view("products", of: PromotedProduct.self, key: \.product, indexes: [.on(\.campaign)])
    let job = try materialize(topic, view)
    let runner = try store.runner(for: job, RunOptions(parallelism: 2))
    let running = Task { try await store.run(runner) }
    let feeding = Task {
      var first = 0
      let events = FaceTests.events(20_000)
      while !Task.isCancelled {
        try await topic.append(contentsOf: Array(events[first..<first + 200]))
        first = (first + 200) % 20_000
      }
    }
    for number in 0..<4 {
      // Not before there is something new to be copied.
      let position = try await topic.append(FaceTests.events(1)[0])
      try await store.waitFor(position, in: topic)
      let target = folder.file("copy-\(number)")
      let report = try await onThread { try store.backup(to: target) }
      #expect(report.checkpoint > 0)
      // The original as it is written, too.
      let found = try await onThread { try store.verify() }
      #expect(found.isSound, "\(found.damages)")
      try await check(target)
    }
    feeding.cancel()
    _ = await feeding.result
    runner.stop()
    _ = try await running.value
    store.close()
  }

  private func materialize(_ topic: Topic<ProductEvent>, _ view: View<PromotedProduct>) throws -> Job {
    try Job("materialize") { flow in
      flow.from(topic).keyed()
        .fold(into: view, initial: PromotedProduct.init(product:)) { row, event in row.apply(event) }
    }
  }

  private func check(_ path: String) async throws {
    let copy = try Store.open(at: path)
    let found = try copy.verify()
    #expect(found.isSound, "\(found.damages)")
    let topic = try copy.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 2)
    let ends = try topic.log.offsets().map(\.upperBound)
    let positions = try #require(try copy.jobs().first?.sources["events"])
    for (position, end) in zip(positions, ends) { #expect(position.position <= end) }
    let view = try copy.view("products", of: PromotedProduct.self, key: \.product, indexes: [.on(\.campaign)])
    try await copy.run(try materialize(topic, view), RunOptions(mode: .toEnd))
    var events: [ProductEvent] = []
    for partition in 0..<2 {
      for try await event in topic.events(partition: partition, from: 0) { events.append(event.event) }
    }
    let expected = FaceTests.model(events)
    let rows = try copy.read { try $0[view].all.rows() }
    #expect(rows.count == expected.count)
    for row in rows { #expect(row == expected[row.product]) }
    copy.close()
  }

  @Test func afterAFailureNothingIsLeft() async throws {
    let store = try Store.open(at: folder.file("store"))
    let topic = try store.topic("events", of: ProductEvent.self, key: \.product)
    try await topic.append(contentsOf: FaceTests.events(10))
    try await topic.log.seal()
    let sealed = try #require(try topic.log.describe().segments.first).path
    try FileManager.default.moveItem(atPath: sealed, toPath: folder.file("away"))
    let error = #expect(throws: EventLogError.self) { try store.backup(to: folder.file("copy")) }
    #expect(error?.code == .missingSegment)
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
    #expect(throws: StoreError.self) { try store.backup(to: folder.file("store")) }
    #expect(FileManager.default.fileExists(atPath: folder.file("store/FORMAT")))
    store.close()
  }

  @Test func progressGrowsToTheWhole() async throws {
    let store = try Store.open(at: folder.file("store"))
    let topic = try store.topic("events", of: ProductEvent.self, key: \.product)
    try await topic.append(contentsOf: FaceTests.events(1000))
    var seen: [BackupProgress] = []
    try store.backup(to: folder.file("copy")) { seen.append($0) }
    #expect(seen.map(\.bytes) == seen.map(\.bytes).sorted())
    #expect(seen.first?.bytes == 0 && seen.last.map { $0.bytes == $0.totalBytes } == true)
    store.close()
  }
}

/// Runs `body`, which blocks, off the cooperative pool.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: Result { try body() }) }.start()
  }
}
