import Testing

@testable import EventLog

@Suite struct ProducerTableTests {
  let key = ProducerTable.Key(partition: 3, producer: 9)

  func table(epoch: UInt32, last: Int64) -> ProducerTable {
    ProducerTable([key: ProducerTable.Entry(epoch: epoch, lastSequence: last, lastOffset: 0)])
  }

  @Test(arguments: [
    (0, 5, ProducerTable.Decision.append(dropping: 0)), (1, 5, .gap(expected: 0)),
  ])
  func aNewProducerBeginsAtZero(sequence: Int64, count: Int, decision: ProducerTable.Decision) {
    #expect(ProducerTable().decide(key, epoch: 0, sequence: sequence, count: count) == decision)
    #expect(table(epoch: 1, last: 7).decide(key, epoch: 2, sequence: sequence, count: count) == decision)
  }

  @Test(arguments: [
    (10, 1, ProducerTable.Decision.append(dropping: 0)), (11, 1, .gap(expected: 10)), (9, 1, .repeated),
    (0, 10, .repeated), (5, 10, .append(dropping: 5)), (9, 2, .append(dropping: 1)),
  ])
  func aKnownProducerGoesOnWithoutGaps(sequence: Int64, count: Int, decision: ProducerTable.Decision) {
    #expect(table(epoch: 4, last: 9).decide(key, epoch: 4, sequence: sequence, count: count) == decision)
  }

  @Test func anOlderEpochIsFencedWhateverItSends() {
    for sequence in 0..<12 as Range<Int64> {
      #expect(table(epoch: 4, last: 9).decide(key, epoch: 3, sequence: sequence, count: 1) == .fenced(by: 4))
    }
  }

  @Test func whatIsStagedCountsUntilItIsAborted() {
    var table = table(epoch: 0, last: 9)
    table.stage(key, ProducerTable.Entry(epoch: 0, lastSequence: 12, lastOffset: 3))
    #expect(table.decide(key, epoch: 0, sequence: 12, count: 1) == .repeated)
    table.abort()
    #expect(table.decide(key, epoch: 0, sequence: 12, count: 1) == .gap(expected: 10))
    table.stage(key, ProducerTable.Entry(epoch: 0, lastSequence: 12, lastOffset: 3))
    table.commit()
    #expect(table.decide(key, epoch: 0, sequence: 13, count: 1) == .append(dropping: 0))
  }
}
