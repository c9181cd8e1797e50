import Foundation

/// What one run of a scenario measured, printed as one line of text or one JSON object.
struct Measurement: Codable {
  var scenario: String
  /// Units of work done: records, rows, gets.
  var events: Int
  /// Wall time of the measured part, start-up excluded.
  var seconds: Double
  var eventsPerSecond: Double
  /// User and system time of the whole process over the measured part.
  var cpuSecondsPerMillion: Double
  /// The process's largest resident set so far.
  var peakRSSMB: Int
  /// Latency percentiles in microseconds, where single operations were timed.
  var latencyMicroseconds: [String: Double]?
  /// What the run was set to, so that it can be repeated.
  var settings: [String: String]
  /// Anything else that the scenario found, as counts that prove the work was done.
  var facts: [String: String]

  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }

  var text: String {
    var line = "\(scenario): \(events) in \(fixed(seconds, 3)) s = \(grouped(eventsPerSecond))/s"
    line += ", \(fixed(cpuSecondsPerMillion, 3)) CPU s per million, peak \(peakRSSMB) MB"
    for (name, value) in (latencyMicroseconds ?? [:]).sorted(by: { $0.key < $1.key }) {
      line += ", \(name) \(fixed(value, 2)) µs"
    }
    for (name, value) in facts.sorted(by: { $0.key < $1.key }) { line += ", \(name) \(value)" }
    return line
  }

  private func fixed(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

  private func grouped(_ value: Double) -> String {
    value >= 1e6 ? fixed(value / 1e6, 2) + " M" : value >= 1e3 ? fixed(value / 1e3, 1) + " K" : fixed(value, 1)
  }
}

/// A stopwatch over wall and processor time of this process.
struct Stopwatch {
  private let start = ContinuousClock.now
  private let startCPU = Stopwatch.processorSeconds()

  /// The finished measurement of `events` units of work.
  func measurement(
    _ scenario: String, events: Int, latencies: [Int64]? = nil, settings: [String: String],
    facts: [String: String] = [:]
  ) -> Measurement {
    let (whole, attoseconds) = (ContinuousClock.now - start).components
    let seconds = Double(whole) + Double(attoseconds) * 1e-18
    let cpu = Stopwatch.processorSeconds() - startCPU
    return Measurement(
      scenario: scenario, events: events, seconds: seconds, eventsPerSecond: Double(events) / max(seconds, 1e-9),
      cpuSecondsPerMillion: cpu * 1e6 / Double(max(events, 1)), peakRSSMB: Stopwatch.peakResidentMegabytes(),
      latencyMicroseconds: latencies.map(percentiles), settings: settings, facts: facts)
  }

  private static func processorSeconds() -> Double {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  static func peakResidentMegabytes() -> Int {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss / 1024
  }
}

/// p50, p95, p99, p99.9 and the maximum of latencies in nanoseconds, as microseconds.
func percentiles(_ nanoseconds: [Int64]) -> [String: Double] {
  guard !nanoseconds.isEmpty else { return [:] }
  let sorted = nanoseconds.sorted()
  func at(_ fraction: Double) -> Double {
    Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))]) / 1000
  }
  return [
    "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "p99.9": at(0.999),
    "max": Double(sorted[sorted.count - 1]) / 1000,
  ]
}
