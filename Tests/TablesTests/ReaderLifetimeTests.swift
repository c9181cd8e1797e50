import Bytes
import Foundation
import LMDB
import Testing

@testable import Tables

/// Readers are remembered by their space; nothing of that may keep the file open for ever.
@Suite struct ReaderLifetimeTests {
  @Test func aSpaceThatWasReadFromLetsGoOfItsFile() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tables-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    weak var seen: TableSpace?
    do {
      let environment = try Environment.open(
        at: folder.appendingPathComponent("t.mdb").path, .init(mapSize: 1 << 26, databases: TableSpace.databases))
      let space = try TableSpace(environment: environment)
      let table = try environment.write { try space.create(named: "a", in: $0) }
      #expect(try environment.read { try space.reader(table, in: $0).isEmpty })
      seen = space
    }
    #expect(seen == nil)
  }
}
