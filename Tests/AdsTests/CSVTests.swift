import AdsCore
import Testing

@Suite("Reading CSV") struct CSVTests {
  private func rows(_ text: String, columns: [String] = ["a", "b"], chunk: Int = 3) throws -> [[String]] {
    var reader = try reader(text, columns: columns, chunk: chunk)
    var rows: [[String]] = []
    while try reader.next() {
      rows.append(try columns.indices.map { try reader.text($0) })
    }
    return rows
  }

  @Test("lines are the same however their bytes arrive", arguments: [1, 2, 3, 7, 1000])
  func chunks(size: Int) throws {
    let text = "a,b\n1,2\r\n\"x,\"\"y\"\"\",\"two\nlines\"\n,\n3,\"\"\n"
    #expect(
      try rows(text, chunk: size) == [["1", "2"], ["x,\"y\"", "two\nlines"], ["", ""], ["3", ""]])
  }

  @Test func theLastLineNeedsNoEnd() throws {
    #expect(try rows("a,b\n1,2") == [["1", "2"]])
    #expect(try rows("a,b\n1,") == [["1", ""]])
    #expect(try rows("a,b\n1,\"2\"") == [["1", "2"]])
    #expect(try rows("a,b") == [])
  }

  @Test func columnsAreFoundByName() throws {
    #expect(try rows("x,b,a\n1,2,3\n", columns: ["a", "b"]) == [["3", "2"]])
    #expect(try rows("\u{FEFF}a,b\n1,2\n") == [["1", "2"]])
  }

  @Test func aColumnThatIsMissingIsNamed() {
    let error = failure { _ = try rows("a,c\n1,2\n") }
    #expect(error?.code == .badInput)
    #expect(error?.place == .init(file: "test.csv", line: 1))
    #expect(error?.description == "test.csv, line 1: the header has no column \"b\". It has: a, c")
  }

  @Test func anEmptyFileIsRefused() {
    #expect(failure { _ = try rows("") }?.code == .badInput)
  }

  @Test func aLineWithTooFewFieldsIsRefusedWithItsNumber() {
    let error = failure { _ = try rows("a,b\n1,2\n3\n") }
    #expect(error?.place == .init(file: "test.csv", line: 3))
    #expect(
      error?.description
        == "test.csv, line 3: the line has 1 fields where the header has 2. Add the missing fields, empty if need be")
  }

  @Test func anEmptyLineIsALineWithTooFewFields() {
    #expect(failure { _ = try rows("a,b\n1,2\n\n3,4\n") }?.place?.line == 3)
  }

  @Test func aLineWithTooManyFieldsIsRefused() {
    #expect(failure { _ = try rows("a,b\n1,2,3\n") }?.place == .init(file: "test.csv", line: 2))
  }

  @Test(
    "broken quotes are refused with their place",
    arguments: [
      ("a,b\n1,x\"y\n", 2, 2), ("a,b\n\"1\"x,2\n", 2, 1), ("a,b\n1,2\n\"3,4\n", 3, 1), ("a,b\n1\r2,3\n", 2, 1),
    ])
  func quotes(text: String, line: Int, column: Int) {
    let error = failure { _ = try rows(text) }
    #expect(error?.code == .badInput)
    #expect(error?.place == .init(file: "test.csv", line: line, column: column))
  }

  @Test func linesInsideQuotesCount() {
    let error = failure { _ = try rows("a,b\n\"x\n\n\",2\n3\n") }
    #expect(error?.place?.line == 5)
  }

  @Test func aLineThatNeverEndsIsRefused() {
    let endless = "a,b\n\"" + String(repeating: "x\n", count: 600_000)
    #expect(failure { _ = try rows(endless, chunk: 65_536) }?.what.contains("longer than") == true)
  }

  @Test func aFieldThatIsNotWhatIsAskedForIsNamed() throws {
    var lines = try reader("n,m,d\nx,1.234,2017-02-30\n", columns: ["d", "m", "n"])
    #expect(try lines.next())
    let number = failure { _ = try lines.integer(2) }
    #expect(number?.place == .init(file: "test.csv", line: 2, column: 1, field: "n"))
    #expect(number?.what == "\"x\" is not a whole number")
    #expect(failure { _ = try lines.cents(1) }?.place?.field == "m")
    #expect(failure { _ = try lines.day(0) }?.place?.column == 3)
  }

  @Test func bytesThatAreNotUTF8AreRefused() throws {
    var lines = try reader(bytes: Array("a\n".utf8) + [0xFF, 0xFE, 0x0A], columns: ["a"])
    #expect(try lines.next())
    #expect(failure { _ = try lines.text(0) }?.what == "the field is not UTF-8")
  }

  @Test func aFileThatIsNotThereIsNamed() {
    let error = failure { _ = try CSVReader(path: "/nowhere/x.csv", columns: []) }
    #expect(error?.code == .fileAccess)
    #expect(error?.description.contains("/nowhere/x.csv: cannot be opened: No such file") == true)
  }

  @Test func aFolderIsNotAFile() {
    #expect(failure { _ = try CSVReader(path: "/", columns: ["a"]) }?.code == .fileAccess)
  }
}
