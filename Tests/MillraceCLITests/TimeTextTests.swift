import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct TimeTextTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999999Z"), (951_782_400_000_000, "2000-02-29T00:00:00Z"),
    (1_700_000_000_123_000, "2023-11-14T22:13:20.123Z"), (Int64.min, "-9223372036854775808"),
    (Int64.max, "9223372036854775807"),
  ]) func timesHaveTheirText(microseconds: Int64, text: String) {
    #expect(TimeText.of(Timestamp(microseconds: microseconds)) == text)
    #expect(TimeText.parse(text) == Timestamp(microseconds: microseconds))
  }

  @Test func everyDayIsReadBack() {
    for day in stride(from: Int64(-719_000), to: 2_900_000, by: 97) {
      let time = Timestamp(microseconds: day * 86_400_000_000 + 1_000_001)
      #expect(TimeText.parse(TimeText.of(time)) == time)
    }
  }

  @Test(arguments: [
    ("2023-11-14", 1_699_920_000_000_000), ("2023-11-14 22:13", 1_699_999_980_000_000),
    ("2023-11-14T22:13:20.5", 1_700_000_000_500_000),
  ]) func shortFormsAreRead(text: String, microseconds: Int64) {
    #expect(TimeText.parse(text) == Timestamp(microseconds: microseconds))
  }

  @Test(arguments: [
    "", "2023-02-29", "2023-13-01", "2023-1-1", "2023-11-14T24:00", "2023-11-14T22", "soon", "2023-11-14T1:2:3",
  ])
  func whatIsNoTimeIsRefused(text: String) {
    #expect(TimeText.parse(text) == nil)
  }
}
