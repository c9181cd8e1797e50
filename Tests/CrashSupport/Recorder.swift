import Foundation
import Glibc
import Synchronization

/// Records what a child does to the files below a folder: the library of `Tests/CrashRecorder`, preloaded into it.
public struct Recorder: Sendable {
  /// There is no C compiler (exit code 127), or it refused the library.
  public struct CompilerFailure: Error {
    public var ending: ChildProcess.Ending
  }

  /// An error that the library makes the child meet.
  public struct Failure: Sendable {
    public enum Step: String, Sendable {
      /// A write to a file that is not opened for synced writing.
      case write
      /// A write on a descriptor with O_DSYNC: how LMDB commits its meta page.
      case syncedWrite = "dsync"
      /// An fsync or fdatasync.
      case sync
    }

    var text: String

    /// In place of an error: the write is done, and the child is killed before it knows.
    public static let death: Int32 = -9

    /// The `number`th step (from 1) fails with `errorNumber`; 0 means that only half is written.
    public init(_ step: Step, number: Int, andAfter: Bool = false, errorNumber: Int32) {
      text = "\(step.rawValue):\(number)\(andAfter ? "+" : ""):\(errorNumber)"
    }
  }

  let root: String
  public let journalPath: String

  /// Watches the files below `root`, an absolute path without symbolic links, and writes `journalPath` outside of it.
  public init(root: String, journalPath: String) {
    self.root = root
    self.journalPath = journalPath
  }

  /// What to add to the child's environment. `syncs`: whether its syncs are done, too, not only written down.
  public func environment(syncs: Bool = false, failing failure: Failure? = nil) throws -> [String: String] {
    var variables = ["LD_PRELOAD": try Self.library(), "CRASH_ROOT": root, "CRASH_JOURNAL": journalPath]
    if !syncs { variables["CRASH_SKIP_SYNC"] = "1" }
    if let failure { variables["CRASH_FAIL"] = failure.text }
    return variables
  }

  private static let compiled = Mutex<String?>(nil)

  /// The library, compiled once per run of the tests with the system's C compiler (package gcc), or with the clang that
  /// comes with Swift.
  ///
  /// It is no target of the package: linked into the tests it would take over their own file calls, and a dynamic
  /// library product would be offered to everyone who depends on the package.
  static func library() throws -> String {
    try compiled.withLock { compiled in
      if let path = compiled { return path }
      let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../CrashRecorder/recorder.c").standardized.path
      let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("millrace-recorder-\(ProcessInfo.processInfo.processIdentifier).so").path
      // Not Foundation's Process: it notices the end by a descriptor that children started meanwhile inherit.
      let compiler = try ChildProcess(
        "/bin/sh",
        [
          "-c",
          """
          compiler=$(command -v cc || command -v gcc || command -v clang) || exit 127
          exec "$compiler" -std=gnu11 -O1 -Wall -Wextra -U_FORTIFY_SOURCE -shared -fPIC -pthread -o "$0" "$1"
          """, path, source,
        ])
      let ending = compiler.wait()
      guard ending == .exited(0) else { throw CompilerFailure(ending: ending) }
      removeAtExit(path)
      compiled = path
      return path
    }
  }
}

/// Removes the file at the end of this process.
private func removeAtExit(_ path: String) {
  libraryPath.withLock { $0 = path }
  atexit { libraryPath.withLock { path in _ = path.map { unlink($0) } } }
}

private let libraryPath = Mutex<String?>(nil)
