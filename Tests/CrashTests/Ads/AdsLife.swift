import CrashSupport
import Foundation
import Testing

/// Starts the child `ads` and collects what it says.
struct AdsLife {
  let store: String
  let input: AdsInput
  var events = Int.max
  var checkpoints = Interval.milliseconds(20)
  var segmentMilliseconds = 150
  var groupSize = 24

  func start(parallelism: Int, seed: UInt64, environment: [String: String] = [:]) throws -> ChildProcess {
    try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"),
      [
        "ads", store, input.folder, "\(events)", "\(parallelism)", "\(seed % 1_000_000)", checkpoints.argument,
        "\(segmentMilliseconds)", "\(groupSize)",
      ], environment: environment)
  }

  /// When the job's epochs end.
  enum Interval {
    case milliseconds(Int)
    case records(Int)

    fileprivate var argument: String {
      switch self {
      case .milliseconds(let count): "\(count)"
      case .records(let count): "-\(count)"
      }
    }
  }

  /// A whole undisturbed life.
  func runUndisturbed(parallelism: Int, seed: UInt64) throws -> [Acknowledgement] {
    let child = try start(parallelism: parallelism, seed: seed)
    let lines = child.remainingLines()
    #expect(child.wait() == .exited(0), "\(lines.last ?? "")")
    #expect(lines.last == "done")
    return lines.flatMap(Acknowledgement.parse)
  }
}
