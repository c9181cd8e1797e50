import AdsCore
import Millrace
import Testing

@Suite("Money and days") struct MoneyAndDayTests {
  @Test(
    "amounts become whole cents",
    arguments: [
      ("0", 0), ("2.99", 299), ("4", 400), ("4.0", 400), ("4.5", 450), ("-1.25", -125), (".5", 50), ("+3.", 300),
      ("8.881784e-16", 0), ("4.4408900000000007E-16", 0), ("1.5e2", 15_000), ("0e30", 0), ("1.000000001", 100),
      ("92233720368547758.07", Int64.max), ("2.50000000", 250),
    ] as [(String, Int64)])
  func cents(text: String, cents: Int64) {
    #expect(Money.cents(text) == cents)
  }

  @Test(
    "what is no whole number of cents is refused",
    arguments: [
      "", "-", ".", "x", "1,5", "1.2.3", "1.005", "1.00001", "1e", "1e99999999", "1e30", "92233720368547758.08", "NaN",
      "1 ", "0x10", "1e18",
    ])
  func refused(text: String) {
    #expect(Money.cents(text) == nil)
  }

  @Test func amountsAreWrittenWithThousands() {
    #expect(Money.text(40_077_104) == "400,771.04")
    #expect(Money.text(-5) == "-0.05")
    #expect(Money.text(100_000) == "1,000.00")
    #expect(Money.text(.min) == "-92,233,720,368,547,758.08")
    #expect(Money.grouped(125_541) == "125,541")
    #expect(Money.grouped(-999) == "-999")
    #expect(Money.grouped(-1_000) == "-1,000")
  }

  @Test func daysAreCountedInUTC() {
    #expect(Day("1970-01-01")?.number == 0)
    #expect(Day("1969-12-31")?.number == -1)
    #expect(Day("2000-02-29")?.number == 11_016)
    #expect(Day(year: 2017, month: 5, day: 1).start == Timestamp(milliseconds: 1_493_596_800_000))
    #expect(Day(holding: Timestamp(microseconds: -1)).number == -1)
    #expect(Day(holding: Day(number: 17).next.start.advanced(byMicroseconds: -1)).number == 17)
    #expect(Day(holding: .min) < Day(holding: .max))
  }

  @Test(
    "what is no date is refused", arguments: ["2017-02-29", "2017-13-01", "17-05-01", "2017-5-1", "x", "2017-00-10"])
  func noDate(text: String) {
    #expect(Day(text) == nil)
  }

  @Test func daysOfEightCenturiesAreReadAsTheyAreWritten() {
    for number in stride(from: -146_097, through: 146_097, by: 29)
    where Day(number: number).description.utf8.count == 10 {
      #expect(Day(Day(number: number).description)?.number == number)
    }
  }
}
