import Millrace
import Testing

/// The least and the greatest that topics, jobs and views must take.
@Suite struct ExtremeValuesTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func theLeastAndTheGreatestTimestampGoThroughTopicJobAndView() async throws {
    let sales = [Sale("a", 1, at: .min), Sale("b", 2, at: .max), Sale("a", 3, at: .max), Sale("b", 4, at: .min)]
    do {
      let shop = try Shop(folder.file("store"))
      try await shop.sales.append(contentsOf: sales)
      try await shop.run(try shop.job())
      let counts = try shop.store.topic("counts", of: Sale.self, key: \.key, timestamp: \.at)
      let windows = try Job("windows") { flow in
        flow.from(shop.sales).keyed().window(.tumbling(.seconds(10)))
          .aggregate("per window", initial: Int64(0)) { count, _ in
            count += 1
          } result: { (key: String, window, count) in
            Sale(key, count, at: window.end.microseconds)
          }
          .append(to: counts)
      }
      try await shop.store.run(windows, RunOptions(mode: .drain))
      shop.store.close()
    }
    let shop = try Shop(folder.file("store"))
    let counts = try shop.store.topic("counts", of: Sale.self, key: \.key, timestamp: \.at)
    var counted: Int64 = 0
    for try await entry in try counts.events() { counted += entry.event.amount }
    // Records behind the watermark of their partition are late; no more than those may be missing.
    #expect((2...4).contains(counted))
    #expect(try shop.rows() == Total.model(sales))
    var times: [Timestamp] = []
    for try await entry in try shop.sales.events() { times.append(entry.timestamp) }
    #expect(times.sorted() == [.min, .min, .max, .max])
    let latest = try shop.store.read { try $0[shop.totals].where(\.last, equals: .max).rows().map(\.key) }
    #expect(Set(latest) == ["a", "b"])
  }

  @Test(arguments: [0, 1, 15, 16, 511, 512, 10_240]) func keysOfEveryLengthFindTheirRowsAgain(length: Int) async throws
  {
    let keys = [String(repeating: "k", count: length), String(repeating: "k", count: max(0, length - 1)) + "l"]
    let sales = (0..<6).map { Sale(keys[$0 % 2], Int64($0)) }
    for part in 0..<2 {
      let shop = try Shop(folder.file("store"))
      let byName = try shop.store.view("by name", of: NamedTotal.self, key: \.id, indexes: [.on(\.name)])
      let more = try shop.sales2
      let states = try Job("states") { flow in
        let sums = flow.from(shop.sales).keyed().fold("sums", initial: Int64(0)) { $0 += $1.amount }
        sums.forEach("look") { _ in }
        flow.from(more).map { NamedTotal(id: $0.amount, name: $0.key) }.upsert(into: byName)
      }
      try await shop.sales.append(contentsOf: Array(sales[(part * 3)..<(part * 3 + 3)]))
      try await more.append(contentsOf: Array(sales[(part * 3)..<(part * 3 + 3)]))
      try await shop.run(try shop.job())
      try await shop.run(states)
      let seen = Array(sales.prefix(part * 3 + 3))
      #expect(try shop.rows() == Total.model(seen))
      for key in keys {
        #expect(try shop.store.read { try $0[shop.totals].get(key) } == Total.model(seen)[key])
        let found = try shop.store.read { try $0[byName].where(\.name, equals: key).rows() }
        #expect(found.map(\.id).sorted() == seen.filter { $0.key == key }.map(\.amount).sorted())
      }
      shop.store.close()
    }
  }

  @Test func aKeyAboveTheLimitIsRefusedAtAppendWithBothSizes() async throws {
    let shop = try Shop(folder.file("store"))
    let error = await failure(EventLogError.self) {
      try await shop.sales.append(Sale(String(repeating: "k", count: 65_535), 1))
    }
    #expect(error?.code == .recordTooLarge)
    #expect(error?.size == 65_535)
    #expect(error?.limit == 65_534)
    try await shop.sales.append(Sale(String(repeating: "k", count: 65_534), 1))
    try await shop.run(try shop.job())
    #expect(try shop.rows().count == 1)
  }

  @Test func aValueOfNoBytesIsAnOrdinaryValue() async throws {
    let store = try Store.open(at: folder.file("store"))
    let input = try store.topic("raw", codec: Codec<[UInt8]>.raw, key: { _ in "" })
    let output = try store.topic("copy", codec: Codec<[UInt8]>.raw, key: { _ in "" })
    try await input.append([])
    try await input.append([1])
    let job = try Job("copy") { flow in flow.from(input).append(to: output) }
    try await store.run(job, RunOptions(mode: .toEnd))
    var values: [[UInt8]] = []
    for try await entry in try output.events() { values.append(entry.event) }
    #expect(values == [[], [1]])
  }

  @Test func aValueAboveTheLimitIsRefusedAtAppendAndInAJob() async throws {
    let store = try Store.open(at: folder.file("store"))
    let wide = try store.topic("wide", codec: Codec<[UInt8]>.raw, key: { _ in "k" })
    let narrow = try store.topic(
      "narrow", codec: Codec<[UInt8]>.raw, key: { _ in "k" }, options: TopicOptions(maximumRecordBytes: 1000))
    let fits = [UInt8](repeating: 7, count: 998)
    let large = [UInt8](repeating: 7, count: 999)
    let error = await failure(EventLogError.self) { try await narrow.append(large) }
    #expect(error?.code == .recordTooLarge)
    #expect(error?.size == 1001)
    #expect(error?.limit == 1000)
    try await wide.append(fits)
    try await wide.append(large)
    let job = try Job("narrowing") { flow in flow.from(wide).append(to: narrow) }
    let failed = await failure(DataflowError.self) { try await store.run(job, RunOptions(mode: .toEnd)) }
    #expect(failed?.code == .sinkFailed)
    #expect(cause(EventLogError.self, of: failed)?.code == .recordTooLarge)
    #expect(cause(EventLogError.self, of: failed)?.size == 1001)
    #expect(try narrow.log.endOffset(0) == 0)
    let careful = try Job("narrowing") { flow in
      flow.from(wide).filter { $0.count < 999 }.append(to: narrow)
    }
    try await store.run(careful, RunOptions(mode: .toEnd))
    #expect(try narrow.log.endOffset(0) == 1)
  }

  @Test func recordsOfTheGreatestSizeLeaveAJobToo() async throws {
    let store = try Store.open(at: folder.file("store"))
    let options = TopicOptions(maximumRecordBytes: 16_777_215)
    let input = try store.topic("in", codec: Codec<[UInt8]>.raw, key: { _ in "k" }, options: options)
    let output = try store.topic("out", codec: Codec<[UInt8]>.raw, key: { _ in "k" }, options: options)
    let sizes = [900_000, 16_777_198, 10]
    for size in sizes { try await input.append([UInt8](repeating: 1, count: size)) }
    let job = try Job("copy") { flow in flow.from(input).append(to: output) }
    try await store.run(job, RunOptions(mode: .toEnd))
    var found: [Int] = []
    for try await entry in try output.events() { found.append(entry.event.count) }
    #expect(found == sizes)
  }
}

struct NamedTotal: Record {
  var id: Int64
  var name: String
}

extension Shop {
  /// A second topic of sales.
  var sales2: Topic<Sale> {
    get throws { try store.topic("sales2", of: Sale.self, key: \.key, timestamp: \.at) }
  }
}
