import Testing

/// What every Swift file of the project keeps to.
@Suite("Files") struct FileTests {
  private static let files = Result { try SourceTree.project.swiftFiles() + [try manifest()] }

  private static func manifest() throws -> SourceTree.File {
    .init(path: "Package.swift", lines: try SourceTree.project.text("Package.swift").components("\n"))
  }

  @Test func thereAreFiles() throws {
    #expect(try Self.files.get().count > 10)
  }

  @Test func noFileIsLongerThan600Lines() throws {
    for file in try Self.files.get() {
      #expect(file.lines.count <= 600, "\(file.path) has \(file.lines.count) lines: give one of its ideas a file")
    }
  }

  @Test func noLineIsWiderThan120Columns() throws {
    try forEachLine { file, number, line in
      // A row of a table in a comment cannot be broken.
      let isTableRow = line.drop { $0 == " " }.hasPrefix("/// |")
      #expect(line.count <= 120 || isTableRow, "\(file.path):\(number) has \(line.count) columns")
    }
  }

  @Test func linesEndWithTextAndFilesWithALineEnd() throws {
    try forEachLine { file, number, line in
      #expect(line.last != " " && line.last != "\t" && line.last != "\r", "\(file.path):\(number) ends with blanks")
    }
    for file in try Self.files.get() { #expect(file.lines.last == "", "\(file.path) has no line end at its end") }
  }

  /// Written in two parts so that this file does not break its own rule.
  static let unfinishedMarks = ["TO" + "DO", "FIX" + "ME", "XX" + "X:", "HA" + "CK"]
  /// What ends the process where an error should be thrown.
  static let fatalCalls = ["fatal" + "Error(", "try" + "!", "as" + "! "]

  @Test("work is finished or not there", arguments: FileTests.unfinishedMarks)
  func finished(word: String) throws {
    try forEachLine { file, number, line in
      #expect(!line.contains(word), "\(file.path):\(number) says \(word)")
    }
  }

  @Test("libraries and programs throw rather than stop", arguments: FileTests.fatalCalls)
  func fatal(call: String) throws {
    try forEachLine { file, number, line in
      guard !file.path.hasPrefix("Tests/"), !isComment(line) else { return }
      #expect(!line.contains(call), "\(file.path):\(number) uses \(call)")
    }
  }

  /// A promise that the compiler does not check says what it rests on.
  @Test func uncheckedSendableStatesItsInvariant() throws {
    try forEachLine { file, number, line in
      guard line.contains("@unchecked" + " Sendable"), !isComment(line) else { return }
      // The comment stands above the declaration, behind it, or in the first lines inside.
      let nearby = file.lines[max(0, number - 9)..<min(file.lines.count, number + 4)]
      #expect(nearby.contains { $0.contains("//") }, "\(file.path):\(number) does not say why it is safe")
    }
  }

  private func forEachLine(_ body: (SourceTree.File, Int, String) throws -> Void) throws {
    for file in try Self.files.get() {
      for (index, line) in file.lines.enumerated() { try body(file, index + 1, line) }
    }
  }

  private func isComment(_ line: String) -> Bool { line.drop { $0 == " " }.hasPrefix("//") }
}

extension String {
  fileprivate func components(_ separator: Character) -> [String] {
    split(separator: separator, omittingEmptySubsequences: false).map(String.init)
  }
}
