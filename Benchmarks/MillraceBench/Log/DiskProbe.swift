import Foundation
import Millrace

/// The disk beneath a measurement: 4 KB appended to a plain file and synced, a few at a time between other work.
final class DiskProbe {
  private let path: String
  private let descriptor: Int32
  private let page = [UInt8](repeating: 7, count: 4096)
  private(set) var latencies: [Int64] = []

  init(folder: String) throws {
    path = folder + "/probe"
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    if descriptor < 0 { throw failure("open") }
  }

  deinit { close(descriptor) }

  /// Appends and syncs `count` pages, one at a time.
  func run(_ count: Int) throws {
    for _ in 0..<count {
      let start = Nanoseconds.now()
      let written = unsafe page.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if written != page.count || fdatasync(descriptor) != 0 { throw failure("write and sync") }
      latencies.append(Nanoseconds.now() - start)
    }
  }

  private func failure(_ operation: String) -> StoreError {
    StoreError(.io, path: path, detail: "cannot \(operation): \(unsafe String(cString: strerror(errno)))")
  }

  /// Its p50 and p99 in microseconds, and how many times its p50 that of `latencies` is.
  func facts(beside latencies: [Int64]) -> [String: String] {
    let (disk, measured) = (percentiles(self.latencies), percentiles(latencies))
    func text(_ number: Double?, _ digits: Int) -> String { String(format: "%.\(digits)f", number ?? 0) }
    return [
      "fdatasyncP50": text(disk["p50"], 0), "fdatasyncP99": text(disk["p99"], 0),
      "p50InFdatasyncs": text((measured["p50"] ?? 0) / max(disk["p50"] ?? 1, 1), 2),
    ]
  }
}

/// Monotonic time, the same in every process of the machine.
enum Nanoseconds {
  static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
