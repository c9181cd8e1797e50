import Foundation
import Millrace

@testable import MillraceCLI

enum Kind: String, Codable, Sendable, CaseIterable { case created, bid, purchase }

struct ProductEvent: Record {
  var product: String
  var kind: Kind
  var amount: Int64
  var at: Timestamp
}

struct ProductRow: Record, Equatable {
  var product: String
  var campaign: Int32?
  var bid: Double
  var units: Int64
  var seen: Timestamp

  init(product: String) {
    self.product = product
    campaign = nil
    bid = 0
    units = 0
    seen = Timestamp(microseconds: 0)
  }

  mutating func apply(_ event: ProductEvent) {
    switch event.kind {
    case .created: campaign = Int32(event.amount)
    case .bid: bid = Double(event.amount) / 4
    case .purchase: units += event.amount
    }
    seen = event.at
  }
}

/// A store with a topic of 400 events, a job that folds them into a view of 20 rows, and a topic of raw bytes; still
/// open for writing while it lives.
final class SampleStore {
  static let events: [ProductEvent] = (0..<400).map { index in
    let number = index % 20
    var kind = index % 2 == 0 ? Kind.bid : Kind.purchase
    if index < 20, number % 3 == 0 { kind = .created }
    return ProductEvent(
      product: number < 10 ? "product-0\(number)" : "product-\(number)", kind: kind, amount: Int64(index % 13),
      at: Timestamp(microseconds: 1_700_000_000_000_000 + Int64(index) * 1000))
  }

  let folder: TemporaryFolder
  let path: String
  let store: Store
  let topic: Topic<ProductEvent>
  let view: View<ProductRow>
  let job: Job

  init() async throws {
    folder = try TemporaryFolder()
    path = folder.file("ads.store")
    store = try Store.open(at: path)
    topic = try store.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 2)
    view = try store.view("products", of: ProductRow.self, key: \.product, indexes: [.on(\.campaign)])
    let (topic, view) = (topic, view)
    job = try Job("materialize") { flow in
      flow.from(topic).keyed().fold(into: view, initial: ProductRow.init(product:)) { row, event in row.apply(event) }
    }
    try await topic.append(contentsOf: Self.events)
    try await store.run(job, RunOptions(mode: .toEnd))
    let raw = try store.log.topic("raw", TopicOptions(partitions: 1))
    let time = Timestamp(microseconds: 1_700_000_000_000_000)
    _ = try await raw.append(key: Array("k".utf8), value: Array("plain text".utf8), timestamp: time)
    _ = try await raw.append(key: nil, value: [0, 255, 1], timestamp: time)
  }

  static let rows: [ProductRow] = {
    var rows: [String: ProductRow] = [:]
    for event in events { rows[event.product, default: ProductRow(product: event.product)].apply(event) }
    return rows.values.sorted { $0.product < $1.product }
  }()

  deinit { store.close() }
}

/// A folder of its own for one test, removed at its end. Honours TMPDIR.
final class TemporaryFolder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("millrace-cli-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  func file(_ name: String) -> String { path + "/" + name }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// The whole command, run in this process.
struct CommandRun {
  var code: Int32
  var output: String
  var errors: String

  var lines: [String] { output.split(separator: "\n").map(String.init) }

  /// `input` comes in chunks of `chunk` bytes. Unless told otherwise a command that follows ends at its first pause,
  /// and one that reads is not interrupted.
  init(
    _ arguments: String..., isErrorTerminal: Bool = false, width: Int? = nil, isStopped: (() -> Bool)? = nil,
    output limit: Int = .max, input: [UInt8] = [], chunk: Int = 1 << 16
  ) {
    self.init(
      arguments, isErrorTerminal: isErrorTerminal, width: width, isStopped: isStopped, output: limit, input: input,
      chunk: chunk)
  }

  private init(
    _ arguments: [String], isErrorTerminal: Bool = false, width: Int? = nil,
    isStopped: (() -> Bool)? = nil, output limit: Int = .max, input: [UInt8] = [], chunk: Int = 1 << 16
  ) {
    var input = input[...]
    var output: [UInt8] = []
    var errors = ""
    var time = 0
    let console = Console(
      isErrorTerminal: isErrorTerminal, width: width,
      now: {
        time += 200
        return time
      }, time: { 1_700_000_100_000_000 }, isStopped: isStopped ?? { arguments.first != "append" },
      input: {
        defer { input = input.dropFirst(chunk) }
        return Array(input.prefix(chunk))
      },
      output: { bytes in
        if output.count >= limit { throw Console.OutputClosed() }
        output += bytes
      }, error: { errors += $0 })
    code = MillraceCommand(console: console).run(arguments)
    self.output = String(decoding: output, as: UTF8.self)
    self.errors = errors
  }

  /// As `init`, on a thread of its own: for commands that wait for tasks, whose pool the tests use up.
  static func onThread(_ arguments: String...) async -> CommandRun {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: CommandRun(arguments)) }
    }
  }

  /// The output's lines as JSON objects.
  func objects() throws -> [[String: Any]] {
    try lines.map { line in
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
    }
  }
}
