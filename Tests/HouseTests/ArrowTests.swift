import Testing

/// Who may import whom: arrows in the house run downwards only.
@Suite("Arrows") struct ArrowTests {
  /// Per folder, the modules of this package that its files may import.
  static let allowed: [(folder: String, modules: Set<String>)] = [
    ("Sources/Bytes", ["CXXHash", "CISAL"]),
    ("Sources/LMDB", ["CLMDB"]),
    ("Sources/Records", ["Bytes"]),
    ("Sources/Tables", ["LMDB", "Bytes"]),
    ("Sources/EventLog", ["LMDB", "Bytes", "CZstd"]),
    ("Sources/Dataflow", ["Tables", "Records", "LMDB", "Bytes"]),
    ("Sources/Views", ["Tables", "Records", "LMDB", "Bytes"]),
    ("Sources/Millrace", ["Dataflow", "Views", "EventLog", "Tables", "Records", "LMDB", "Bytes"]),
    ("Sources/MillraceCLI", ["Millrace"]),
    ("Benchmarks", ["Millrace", "AdsCore"]),
    ("examples/ads/Core", ["Millrace"]),
    ("examples/ads/Command", ["AdsCore", "Millrace"]),
  ]

  /// Modules that come with the toolchain.
  static let toolchain: Set<String> = [
    "Swift", "Synchronization", "Foundation", "FoundationEssentials", "Glibc", "Dispatch",
  ]

  @Test("no target imports what stands above or beside it", arguments: ArrowTests.allowed.map(\.folder))
  func imports(folder: String) throws {
    let modules = Self.allowed.first { $0.folder == folder }?.modules ?? []
    for file in try SourceTree.project.swiftFiles(in: [folder]) {
      for (number, line) in file.lines.enumerated() {
        guard let module = importedModule(line) else { continue }
        #expect(
          modules.contains(module) || Self.toolchain.contains(module),
          "\(file.path):\(number + 1) imports \(module)")
      }
    }
  }

  @Test func everyFolderOfSourcesHasItsArrows() throws {
    let known = Set(Self.allowed.map(\.folder)).union(
      ["CLMDB", "CXXHash", "CISAL", "CZstd"].map { "Sources/" + $0 })
    for folder in try SourceTree.project.folders(in: "Sources") {
      #expect(known.contains("Sources/\(folder)"), "Sources/\(folder) is not in the list of arrows")
    }
  }

  @Test func importsAreFoundInAllTheirForms() {
    #expect(importedModule("import LMDB") == "LMDB")
    #expect(importedModule("  package import Bytes  // why") == "Bytes")
    #expect(importedModule("@_exported public import struct Records.Schema") == "Records")
    #expect(importedModule("@_spi(Reflection) internal import Swift") == "Swift")
    #expect(importedModule("@testable import Views") == "Views")
    #expect(importedModule("// import LMDB") == nil)
    #expect(importedModule("let import = 1") == nil)
    #expect(importedModule("important()") == nil)
  }
}

/// The module that a line imports, if it is an import.
func importedModule(_ line: String) -> String? {
  var words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })[...]
  let modifiers: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
  while let word = words.first, word.hasPrefix("@") || modifiers.contains(word) { words.removeFirst() }
  guard words.popFirst() == "import" else { return nil }
  let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
  if let word = words.first, kinds.contains(word) { words.removeFirst() }
  return words.first.flatMap { $0.split(separator: ".").first }.map(String.init)
}
