import Foundation
import Millrace

/// A reader in another process, which finds new records by looking at the file every `LogOptions.pollInterval`.
enum TailElsewhere {
  /// The name under which this program is the reader: `log-tail-reader FOLDER COUNT`.
  static let readerCommand = "log-tail-reader"

  /// Reads `count` records, each holding when its append was called, and prints the latencies in nanoseconds.
  static func read(_ folder: String, count: Int) throws {
    let log = try EventLog.open(at: folder, LogOptions(access: .readOnly))
    let topic = try log.topic("bench")
    let reader = try topic.reader(partition: 0, from: try topic.endOffset(0))
    FileHandle.standardOutput.write(Data("ready\n".utf8))
    var latencies: [Int64] = []
    while latencies.count < count {
      let read = try reader.read { batch in
        let now = Nanoseconds.now()
        for record in batch {
          latencies.append(now - Int64(littleEndian: unsafe record.value.loadUnaligned(as: Int64.self)))
        }
      }
      if read == 0 { _ = try reader.wait(timeout: .seconds(5)) }
    }
    FileHandle.standardOutput.write(Data(latencies.map { "\($0)\n" }.joined().utf8))
  }
}

extension LogScenarios {
  static let tailElsewhere = Scenario(
    name: "log-tail-elsewhere",
    summary: "from the call of append until a reader in another process has the record, default poll interval",
    defaultSize: 500
  ) { options in
    let topic = try topic(options)
    try await topic.append(key: nil, value: [], timestamp: Timestamp(microseconds: 0))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
    process.arguments = [TailElsewhere.readerCommand, options.folder + "/log", String(options.size)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    _ = output.fileHandleForReading.availableData
    let probe = try DiskProbe(folder: options.folder)
    var random = SplitMix64(seed: 5)
    let watch = Stopwatch()
    for _ in 0..<options.size {
      // At any moment of the reader's interval.
      try await Task.sleep(for: .microseconds(Int(random.next() % 20_000)))
      try probe.run(1)
      var value = [UInt8](repeating: 9, count: BenchRecords.recordBytes)
      unsafe withUnsafeBytes(of: Nanoseconds.now().littleEndian) { unsafe value.replaceSubrange(0..<8, with: $0) }
      try await topic.append(key: nil, value: value, timestamp: Timestamp(microseconds: 0))
    }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let latencies = text.split(separator: "\n").compactMap { Int64($0) }
    guard latencies.count == options.size else {
      throw StoreError(.io, path: options.folder, detail: "the reading process ended before it had every record")
    }
    return watch.measurement(
      "log-tail-elsewhere", events: latencies.count, latencies: latencies,
      settings: [
        "recordBytes": "100", "pollInterval": "\(LogOptions().pollInterval)", "durability": "synced before it is seen",
        "pace": "one append about every 10 ms",
      ], facts: probe.facts(beside: latencies))
  }
}
