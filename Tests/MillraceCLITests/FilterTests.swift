import Testing

@testable import MillraceCLI

@Suite struct FilterTests {
  private typealias Filter = FilterExpression

  private func column(_ name: String, _ comparison: Filter.Comparison, _ literal: Filter.Literal) -> Filter {
    .compare(column: name, comparison, literal)
  }

  @Test(arguments: [
    ("a = 1", Filter.Comparison.equal), ("a==1", .equal), ("a != 1", .notEqual), ("a<>1", .notEqual), ("a < 1", .less),
    ("a<=1", .lessOrEqual), ("a > 1", .greater), ("a>=1", .greaterOrEqual),
  ]) func comparisons(source: String, comparison: FilterExpression.Comparison) throws {
    #expect(try Filter(parsing: source) == column("a", comparison, .integer(1)))
  }

  @Test(arguments: [
    ("7", Filter.Literal.integer(7)), ("-7", .integer(-7)), ("+7", .integer(7)), ("1_000", .integer(1000)),
    ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("9223372036854775808", .decimal(9_223_372_036_854_775_808)), ("1.5", .decimal(1.5)), (".5", .decimal(0.5)),
    ("-1.5e3", .decimal(-1500)), ("2e-2", .decimal(0.02)), ("TRUE", .boolean(true)), ("false", .boolean(false)),
    ("'it''s'", .text("it's")), (#""a\"b""#, .text("a\"b")), (#"'\n\t\\'"#, .text("\n\t\\")), ("''", .text("")),
    ("'ä € 🙂'", .text("ä € 🙂")), (#""and or not""#, .text("and or not")),
  ]) func literals(source: String, literal: FilterExpression.Literal) throws {
    #expect(try Filter(parsing: "a = \(source)") == column("a", .equal, literal))
  }

  @Test func andBindsTighterThanOrAndNotTightest() throws {
    let (a, b, c) = (
      column("a", .equal, .integer(1)), column("b", .equal, .integer(2)), column("c", .equal, .integer(3))
    )
    #expect(try Filter(parsing: "a=1 or b=2 and c=3") == .or(a, .and(b, c)))
    #expect(try Filter(parsing: "a=1 and b=2 or c=3") == .or(.and(a, b), c))
    #expect(try Filter(parsing: "(a=1 or b=2) and c=3") == .and(.or(a, b), c))
    #expect(try Filter(parsing: "not a=1 and b=2") == .and(.not(a), b))
    #expect(try Filter(parsing: "not (a=1 and b=2)") == .not(.and(a, b)))
    #expect(try Filter(parsing: "NOT NOT a=1") == .not(.not(a)))
    #expect(try Filter(parsing: "a=1 and b=2 and c=3") == .and(.and(a, b), c))
  }

  @Test func textTestsListsAndNulls() throws {
    #expect(try Filter(parsing: "a Contains 'x'") == .text(column: "a", .contains, "x"))
    #expect(try Filter(parsing: "a starts with 'x'") == .text(column: "a", .startsWith, "x"))
    #expect(try Filter(parsing: "a ends with \"x\"") == .text(column: "a", .endsWith, "x"))
    #expect(try Filter(parsing: "a in (1, 'x', null)") == .oneOf(column: "a", [.integer(1), .text("x"), .null]))
    #expect(try Filter(parsing: "a not in (1)") == .not(.oneOf(column: "a", [.integer(1)])))
    #expect(try Filter(parsing: "a is null") == .isNull(column: "a"))
    #expect(try Filter(parsing: "a is not null") == .not(.isNull(column: "a")))
    #expect(try Filter(parsing: "a = null") == .isNull(column: "a"))
    #expect(try Filter(parsing: "a != nil") == .not(.isNull(column: "a")))
  }

  @Test func columnNamesMayBeQuotedDottedAndForeign() throws {
    #expect(try Filter(parsing: "`order` = 1") == column("order", .equal, .integer(1)))
    #expect(try Filter(parsing: "`a b``c` = 1") == column("a b`c", .equal, .integer(1)))
    #expect(try Filter(parsing: "größe_2.x = 1") == column("größe_2.x", .equal, .integer(1)))
    #expect(try Filter(parsing: "`not` = 1").columns == ["not"])
    #expect(try Filter(parsing: "b=1 or not (a in (1) and b is null)").columns == ["b", "a"])
  }

  @Test(arguments: [
    ("", 0, "the filter is empty"),
    ("   ", 3, "the filter is empty"),
    ("a", 1, "an operator was expected"),
    ("a =", 3, "a value was expected"),
    ("a = b", 4, "a text needs quotes: \"b\""),
    ("a = 1 b", 6, "'and', 'or' or the end was expected"),
    ("a = 1 and", 9, "a column was expected"),
    ("= 1", 0, "a column was expected"),
    ("'a' = 1", 0, "`backquotes`"),
    ("(a = 1", 6, "')' was expected"),
    ("a = 1)", 5, "'and', 'or' or the end was expected"),
    ("a = 'x", 4, "the closing ' is missing"),
    ("a = '\\q'", 5, "a backslash must be followed"),
    ("a = 1.2.3", 4, "'1.2.3' is no number"),
    ("a = 12x", 4, "'12x' is no number"),
    ("a = 1e999", 4, "is no number"),
    ("a = -", 4, "'-' is no number"),
    ("a = 1 & b = 2", 6, "'&' has no meaning here"),
    ("a contain 'x'", 2, "'contain' is no operator (did you mean 'contains'?)"),
    ("a contains 7", 11, "a text in quotes was expected"),
    ("a starts 'x'", 9, "'with' was expected"),
    ("a in 1", 5, "'(' was expected"),
    ("a in ()", 6, "a value was expected"),
    ("a in (1 2)", 8, "',' or ')' was expected"),
    ("a is 1", 5, "'null' was expected"),
    ("a not 1", 6, "'in' was expected"),
    ("and = 1", 0, "a column was expected"),
    ("`` = 1", 0, "a column was expected"),
  ]) func whatCannotBeUnderstoodIsShownWithItsPlace(source: String, position: Int, message: String) {
    let error = #expect(throws: FilterError.self) { _ = try Filter(parsing: source) }
    #expect(error?.position == position)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    #expect(error?.description.hasSuffix("\n  \(String(repeating: " ", count: position))^") == true)
  }

  @Test func noFilterExhaustsTheStack() throws {
    let depth = 20_000
    for source in [
      String(repeating: "(", count: depth) + "a=1" + String(repeating: ")", count: depth),
      String(repeating: "not ", count: depth) + "a=1",
      Array(repeating: "a=1", count: depth).joined(separator: " and "),
    ] {
      #expect(throws: FilterError.self) { _ = try Filter(parsing: source) }
    }
    #expect(throws: Never.self) {
      try Filter(parsing: String(repeating: "(", count: 90) + "a=1" + String(repeating: ")", count: 90))
    }
  }

  @Test func randomInputIsReadOrRefused() {
    let seed = UInt64.random(in: 0..<1_000_000)
    print("random filters: seed \(seed)")
    var state = seed
    let parts = [
      "a", " ", "=", "<", ">", "(", ")", "'x'", "'", "`", "\\", "1", ".", "-", "e", "and ", "or ", "not ", "in", ",",
      "is ", "null", "é", "\u{0}", "🙂",
    ]
    for _ in 0..<5000 {
      var source = ""
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      for _ in 0..<Int(state >> 60) + 1 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        source += parts[Int(state >> 33) % parts.count]
      }
      do throws(FilterError) {
        _ = try Filter(parsing: source)
      } catch {
        #expect(error.position >= 0 && error.position <= source.count)
      }
    }
  }
}
