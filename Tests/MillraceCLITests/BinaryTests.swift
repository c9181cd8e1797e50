import Foundation
import Millrace
import Testing

@testable import MillraceCLI

/// The program itself, as a shell runs it: streams, signals, exit codes. One after another: children started meanwhile
/// would inherit the pipes, and waiting for one's end keeps a thread of the pool.
@Suite(.serialized) struct BinaryTests {
  private final class Program {
    let process = Process()
    let input = Pipe()
    let output = Pipe()
    let errors = Pipe()

    init(_ arguments: String...) throws {
      // The product's name, or the target's in a package that has no products.
      let folder = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        .deletingLastPathComponent()
      let found = ["millrace", "MillraceCLI"].map { folder.appendingPathComponent($0) }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }
      let program: URL = try #require(found)
      process.executableURL = program
      process.arguments = arguments
      // A child that inherits the other end of its own input never sees it closed.
      for end in [input.fileHandleForWriting, output.fileHandleForReading, errors.fileHandleForReading] {
        _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
      }
      process.standardInput = input
      process.standardOutput = output
      process.standardError = errors
      try process.run()
    }

    func write(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    /// Closes its input unless told not to, waits, and returns exit code and streams.
    func end(closingInput: Bool = true) throws -> (code: Int32, output: String, errors: String) {
      if closingInput { try input.fileHandleForWriting.close() }
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      let note = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationStatus, text, note)
    }
  }

  @Test func recordsGoInAndComeOut() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("log")
    #expect(try Program("topics", "create", path, "t", "--init", "log").end().code == 0)
    let append = try Program("append", path, "t")
    try append.write("one\ntwo\n")
    let appended = try append.end()
    #expect(appended.code == 0 && appended.output == "2 records are durable in 't'\n" && appended.errors == "")
    let exported = try Program("export", path, "t").end()
    #expect(exported.code == 0 && exported.output.split(separator: "\n").count == 2)
    let wrong = try Program("exprot", path).end()
    #expect(wrong.code == 64 && wrong.output == "" && wrong.errors.contains("did you mean 'export'?"))
    #expect(try Program("tail", path, "u").end().code == 1)
  }

  @Test func whatWasReadIsDurableBeforeMoreIsWaitedFor() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("log")
    _ = try Program("topics", "create", path, "t", "--init", "log").end()
    let append = try Program("append", path, "t")
    let log = try EventLog.open(at: path, LogOptions(access: .readOnly))
    var records = try log.topic("t").records(partition: 0, from: 0, tailing: true).makeAsyncIterator()
    for line in ["first", "second"] {
      try append.write(line + "\n")
      #expect(try await records.next()?.value == Array(line.utf8))
    }
    // A second one that writes is told who does.
    let busy = try Program("append", path, "t").end()
    #expect(busy.code == 1 && busy.errors.contains("only one process can write at a time"))
    append.process.interrupt()
    let ended = try append.end(closingInput: false)
    #expect(ended.code == 0 && ended.output == "2 records are durable in 't'\n")
    #expect(ended.errors == "millrace: interrupted; what was read is durable\n")
  }

  @Test func aReaderThatHasSeenEnoughIsNoError() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("log")
    _ = try Program("topics", "create", path, "t", "--init", "log").end()
    let append = try Program("append", path, "t")
    for _ in 0..<20 { try append.write(String(repeating: "a line of some length\n", count: 1000)) }
    #expect(try append.end().output == "20,000 records are durable in 't'\n")
    let export = try Program("export", path, "t")
    #expect(export.output.fileHandleForReading.availableData.count > 0)
    try export.output.fileHandleForReading.close()
    export.process.waitUntilExit()
    #expect(export.process.terminationStatus == 0)
  }
}
