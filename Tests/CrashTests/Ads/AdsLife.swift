import CrashSupport
import Foundation
import Testing

/// Starts the child `ads` and collects what it says.
struct AdsLife {
  let store: String
  let input: AdsInput
  var events = Int.max
  var checkpointMilliseconds = 20
  var segmentMilliseconds = 150
  var groupSize = 24

  func start(parallelism: Int, seed: UInt64, environment: [String: String] = [:]) throws -> ChildProcess {
    try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"),
      [
        "ads", store, input.folder, "\(events)", "\(parallelism)", "\(seed % 1_000_000)", "\(checkpointMilliseconds)",
        "\(segmentMilliseconds)", "\(groupSize)",
      ], environment: environment)
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
