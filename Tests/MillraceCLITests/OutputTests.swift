import Testing

@testable import MillraceCLI

@Suite struct OutputTests {
  @Test(arguments: [
    (OutputValue.null, ""), (.text(""), "\"\""), (.text("plain"), "plain"), (.text("a,b"), "\"a,b\""),
    (.text("say \"x\""), "\"say \"\"x\"\"\""), (.text("two\nlines"), "\"two\nlines\""),
    (.text("dos\r\n"), "\"dos\r\n\""), (.text(" edge "), "\" edge \""), (.text("ä;b"), "ä;b"), (.integer(-5), "-5"),
    (.decimal(0.1), "0.1"), (.boolean(true), "true"), (.bytes([0, 255]), "00ff"),
    (.list([.integer(1), .text("x")]), "\"[1,\"\"x\"\"]\""), (.unsigned(.max), "18446744073709551615"),
  ]) func csvFieldsAreQuotedWhereTheyMustBe(value: OutputValue, field: String) {
    #expect(CSVText.line([value, .integer(1)]) == field + ",1")
  }

  @Test func csvNamesAreFieldsToo() {
    #expect(CSVText.header(["a", "b,c", "d"]) == "a,\"b,c\",d")
  }

  @Test func jsonIsEscapedAndKeepsTheOrderOfNames() {
    let row = JSONText.row(
      ["z", "a", "n", "f", "b"],
      [.text("\"\\\n\u{1}\u{7f}\u{2028}é🙂"), .null, .decimal(.nan), .decimal(-.infinity), .bytes([1, 171])])
    #expect(row == #"{"z":"\"\\\n\u0001\u007f\u2028é🙂","a":null,"n":null,"f":null,"b":"01ab"}"#)
    #expect(JSONText.of(.list([.boolean(false), .integer(.min), .object([])])) == "[false,-9223372036854775808,{}]")
    #expect(JSONText.of(.decimal(1e300)) == "1e+300")
    #expect(JSONText.of(.decimal(2)) == "2.0")
  }

  @Test func aTableIsAlignedNumbersToTheRight() {
    var table = TableText(["product", "bid", "note"])
    table.append([.text("soup"), .decimal(1.5), .text("x")])
    table.append([.text("crisps"), .integer(12), .null])
    table.append([.text("tea")])
    #expect(
      table.lines() == [
        "product  bid  note",
        "───────  ───  ────",
        "soup     1.5  x",
        "crisps    12",
        "tea",
      ])
    #expect(TableText(["a"]).lines() == ["a", "─"])
  }

  @Test func wideTextIsMeasuredInColumnsAndCutToTheTerminal() {
    var table = TableText(["name", "n"])
    table.append([.text("日本語のとても長い名前です"), .integer(1)])
    table.append([.text("e\u{301}clair"), .integer(22)])
    let lines = table.lines(width: 16)
    #expect(lines[2] == "日本語のと…    1")
    #expect(lines[3] == "e\u{301}clair        22")
    #expect(table.lines()[2] == "日本語のとても長い名前です   1")
    // No column becomes narrower than eight.
    #expect(table.lines(width: 1)[2] == "日本語…    1")
  }

  @Test func nothingInATableDrivesTheTerminal() {
    var table = TableText(["a"])
    table.append([.text("x\u{1b}[2J\u{7}\n\r\t\u{202e}\u{9b}y")])
    let text = table.lines().joined()
    #expect(text.contains(#"x\u{1b}[2J\u{7}\n\r\t\u{202e}\u{9b}y"#))
    #expect(!text.unicodeScalars.contains { $0.value < 32 || (0x7f...0x9f).contains($0.value) || $0 == "\u{202e}" })
  }

  @Test(arguments: [
    (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (10_188, "9.9 KiB"),
    (10_189, "10 KiB"), (1_048_063, "1023 KiB"), (1_048_064, "1.0 MiB"), (5 << 30, "5.0 GiB"), (.max, "8.0 EiB"),
    (.min, "-8.0 EiB"), (-2048, "-2.0 KiB"),
  ]) func sizes(bytes: Int, text: String) { #expect(HumanText.size(bytes) == text) }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"), (.min, "-9,223,372,036,854,775,808"),
  ]) func counts(number: Int, text: String) { #expect(HumanText.count(number) == text) }

  @Test(arguments: [
    (0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (59_999, "59.9 s"), (60_000, "1 min 0 s"), (3_600_000, "1 h 0 min"),
    (90_000_000, "1 d 1 h"), (-5, "-5 ms"),
  ]) func durations(milliseconds: Int, text: String) {
    #expect(HumanText.duration(milliseconds: milliseconds) == text)
    #expect(!HumanText.duration(milliseconds: .min).isEmpty)
  }

  @Test func progressIsDrawnForPeopleOnlyAndNotTooOften() {
    var time = 0
    var written: [String] = []
    var hidden = Progress("verify", total: 100, isShown: false, now: { time }, write: { written.append($0) })
    hidden.update(5)
    hidden.finish()
    #expect(written.isEmpty)
    var shown = Progress("verify", total: 1000, isShown: true, now: { time }, write: { written.append($0) })
    shown.update(0)
    time = 99
    shown.update(50)
    #expect(written.count == 1)
    time = 2000
    shown.update(250)
    #expect(written.last == "\r\u{1b}[Kverify  250 of 1,000 (25 %), 6.0 s left")
    shown.finish()
    #expect(written.last == "\r\u{1b}[K")
    #expect(Progress.line("copy", done: 1234, total: nil, milliseconds: 5000) == "copy  1,234")
    #expect(Progress.line("copy", done: 7, total: 5, milliseconds: 5000) == "copy  7 of 5 (100 %)")
    #expect(Progress.line("copy", done: 1, total: .max, milliseconds: .max).hasPrefix("copy  1 of"))
  }
}
