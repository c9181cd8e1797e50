import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct VerifyCommandTests {
  @Test func aSoundStoreIsSound() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("verify", sample.path)
    #expect(run.code == 0 && run.errors == "", "\(run.output)\(run.errors)")
    #expect(run.lines.last == "sound")
    #expect(run.output.contains("402 records") && run.output.contains("products: 20 rows"))
    let object = try #require(try CommandRun("verify", sample.path, "--json").objects().first)
    #expect(object["records"] as? Int == 402 && (object["damages"] as? [Any])?.isEmpty == true)
    #expect(object["states"] as? Int == 0 && object["jobs"] as? Int == 1)
  }

  @Test func progressIsForPeopleOnly() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("verify", sample.path, isErrorTerminal: true)
    #expect(run.errors.contains("verifying log") && run.errors.contains("verifying views"))
    #expect(run.errors.hasSuffix("\u{1b}[K"))
  }

  @Test func aBitInABatchIsNamedAndTheRestCounted() async throws {
    let sample = try await SampleStore()
    let segment = try #require(try sample.store.log.topic("raw").describe().segments.first).path
    sample.store.close()
    try Damage.flip(Array("plain text".utf8), in: segment)
    let run = CommandRun("verify", sample.path)
    #expect(run.code == 1)
    #expect(run.output.contains("DAMAGE  topic raw, partition 0: offsets 0..<1"), "\(run.output)")
    #expect(run.output.contains(segment) && run.output.contains("401 records"))
    #expect(run.lines.last?.hasPrefix("1 place is damaged") == true)
    let tail = CommandRun("tail", sample.path, "raw")
    #expect(tail.code == 1 && tail.lines.count == 1 && tail.errors.contains("skipped topic raw"), "\(tail.errors)")
  }

  @Test func aBitInAViewsBytesIsNamed() async throws {
    let sample = try await SampleStore()
    sample.store.close()
    // Of the rows' run: key bytes that no page header and no other value has.
    try Damage.flip(Array("product-17".utf8), in: sample.path + "/state.mdb")
    let run = CommandRun("verify", sample.path)
    #expect(run.code == 1)
    #expect(run.output.contains("DAMAGE  view products"), "\(run.output)")
    let object = try #require(try CommandRun("verify", sample.path, "--json").objects().first)
    let damages = try #require(object["damages"] as? [[String: Any]])
    #expect(damages.first?["subject"] as? String == "view products")
    // The topics are not concerned.
    #expect(CommandRun("tail", sample.path, "events").code == 0)
    let inspect = CommandRun("inspect", sample.path)
    #expect(inspect.code == 1 && inspect.output.contains("events") && inspect.errors.contains("view products"))
  }

  /// Every page of both kinds of file, one byte of its header or of its first entries: never a crash, always named.
  @Test func aBitInAPageOfATreeIsNamed() async throws {
    let sample = try await SampleStore()
    let segment = try #require(try sample.store.log.topic("raw").describe().segments.first).path
    sample.store.close()
    var seed = UInt64(Date().timeIntervalSince1970)
    print("seed \(seed)")
    for file in [sample.path + "/state.mdb", segment] {
      let pristine = try Data(contentsOf: URL(fileURLWithPath: file))
      for page in 2..<(pristine.count / 4096) {
        let kind = pristine[page * 4096 + 10]
        guard kind == 1 || kind == 2 else { continue }
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        var damaged = pristine
        damaged[page * 4096 + [0, 1, 10, 12, 14, 16][Int(seed >> 33) % 6]] ^= 1 << UInt8(seed >> 60 & 7)
        try Damage.overwrite(file, damaged)
        let run = CommandRun("verify", sample.path)
        // A page that the last commit does not use may be anything.
        if run.code != 0 {
          #expect(run.code == 1)
          let isNamed = run.output.contains(file) || run.errors.contains(file)
          #expect(isNamed, "page \(page): \(run.output)\(run.errors)")
        }
      }
      try Damage.overwrite(file, pristine)
    }
    #expect(CommandRun("verify", sample.path).code == 0)
  }

  /// LMDB takes such an entry for a tree of its own and writes through a pointer that is not there.
  @Test func anEntryOfAKindThatNoDatabaseHasIsNamed() async throws {
    let sample = try await SampleStore()
    let segment = try #require(try sample.store.log.topic("raw").describe().segments.first).path
    sample.store.close()
    for file in [sample.path + "/state.mdb", segment] {
      let pristine = try Data(contentsOf: URL(fileURLWithPath: file))
      var named = 0
      for page in 2..<(pristine.count / 4096) where pristine[page * 4096 + 10] == 2 {
        let entry = Int(pristine[page * 4096 + 16]) | Int(pristine[page * 4096 + 17]) << 8
        guard entry >= 16, entry < 4080 else { continue }
        var damaged = pristine
        damaged[page * 4096 + entry + 4] ^= 4
        try Damage.overwrite(file, damaged)
        let run = CommandRun("verify", sample.path)
        // A page that the last commit does not use may be anything.
        if run.code != 0 {
          named += 1
          #expect(run.code == 1 && run.output.contains("of kind"), "page \(page): \(run.output)\(run.errors)")
        }
      }
      #expect(named > 0)
      try Damage.overwrite(file, pristine)
    }
  }

  @Test func aMissingSegmentIsNamed() async throws {
    let sample = try await SampleStore()
    let segment = try #require(try sample.store.log.topic("raw").describe().segments.first).path
    sample.store.close()
    try FileManager.default.removeItem(atPath: segment)
    let run = CommandRun("verify", sample.path)
    #expect(run.code == 1 && (run.output + run.errors).contains(segment), "\(run.output)\(run.errors)")
    #expect(CommandRun("query", sample.path, "products").code == 0)
  }
}

enum Damage {
  /// Flips one bit in the last place of `bytes` in the file.
  static func flip(_ bytes: [UInt8], in file: String) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: file))
    var places: [Int] = []
    var from = data.startIndex
    while let range = data.range(of: Data(bytes), in: from..<data.endIndex) {
      places.append(range.lowerBound)
      from = range.upperBound
    }
    if places.isEmpty { throw CocoaError(.fileReadCorruptFile) }
    for place in places { data[place + 1] ^= 4 }
    try overwrite(file, data)
  }

  /// Overwrites the file's bytes in place: the file stays the same one.
  static func overwrite(_ file: String, _ data: Data) throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    try handle.write(contentsOf: data)
    try handle.close()
  }
}
