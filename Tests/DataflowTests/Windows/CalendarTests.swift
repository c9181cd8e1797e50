import Bytes
import Dataflow
import Foundation
import Testing

@Suite struct CalendarTests {
  private static let hour: Int64 = 3_600_000_000
  /// Berlin in 2026: clocks go forward on 29 March at 01:00 of the world, back on 25 October.
  private static let berlin = TimeZoneTable(
    offset: .seconds(3600),
    changes: [
      (Timestamp(microseconds: 1_774_746_000_000_000), .seconds(7200)),
      (Timestamp(microseconds: 1_792_890_000_000_000), .seconds(3600)),
    ])

  private func days(_ rule: some TimeZoneRule, _ times: [Int64]) throws -> [(start: Int64, hours: Int64)] {
    try run(times.map { .record($0) }, options: RunOptions(mode: .drain)) { $0.window(.daily(in: rule)).times() }
      .panes.map { ($0.start, ($0.end - $0.start) / Self.hour) }
  }

  @Test func daysHave23Or25HoursWhereClocksChange() throws {
    let spring: Int64 = 1_774_738_800_000_000  // 2026-03-28T23:00Z, midnight in Berlin
    let autumn: Int64 = 1_792_879_200_000_000  // 2026-10-24T22:00Z
    let found = try days(
      Self.berlin,
      [spring - 1, spring, spring + 22 * Self.hour, spring + 23 * Self.hour, autumn, autumn + 25 * Self.hour])
    #expect(found.map(\.hours) == [24, 23, 24, 25, 24])
    #expect(found.map(\.start).contains(spring))
    #expect(found.map(\.start).contains(spring + 23 * Self.hour))
    #expect(found.map(\.start).contains(autumn))
  }

  @Test func theSystemsZoneAgreesWithTheTable() throws {
    guard let zone = TimeZone(identifier: "Europe/Berlin") else { return }
    let table = TimeZoneTable(
      zone, from: Timestamp(microseconds: 1_767_225_600_000_000), to: Timestamp(microseconds: 1_798_761_600_000_000))
    var time: Int64 = 1_767_225_600_000_000
    while time < 1_798_761_600_000_000 {
      let moment = Timestamp(microseconds: time)
      #expect(table.offset(at: moment).microseconds == zone.offset(at: moment).microseconds)
      #expect(table.offset(at: moment).microseconds == Self.berlin.offset(at: moment).microseconds)
      time += 11 * Self.hour
    }
  }

  @Test func everyMomentLiesInOneDay() throws {
    // Clocks go back over midnight, forward over midnight, and by a whole day, as at the date line.
    let rule = TimeZoneTable(
      offset: .seconds(-3600),
      changes: [
        (.at(5 * 24 * Self.hour), .seconds(3600)), (.at(9 * 24 * Self.hour), .seconds(-3600)),
        (.at(12 * 24 * Self.hour), .seconds(13 * 3600)), (.at(15 * 24 * Self.hour), .seconds(-11 * 3600)),
      ])
    var times: [Int64] = []
    for step in 0..<(20 * 24 * 2) { times.append(Int64(step) * Self.hour / 2) }
    let panes = try run(times.map { .record($0) }, options: RunOptions(mode: .drain)) {
      $0.window(.daily(in: rule)).times()
    }.panes
    #expect(panes.flatMap(\.times).sorted() == times)
    for pane in panes { #expect(pane.times.allSatisfy { $0 >= pane.start && $0 < pane.end }) }
    let ordered = panes.sorted { $0.start < $1.start }
    for (left, right) in zip(ordered, ordered.dropFirst()) { #expect(left.end <= right.start) }
  }
}
