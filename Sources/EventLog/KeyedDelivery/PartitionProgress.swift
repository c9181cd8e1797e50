/// How far one partition is: which of the records that were read are finished.
///
/// Entries stand for records in the order of their offsets, from the first unfinished one to the last one read. What is
/// finished behind the first unfinished one is kept as ranges with the commit.
struct PartitionProgress: Sendable {
  private struct Entry: BitwiseCopyable, Sendable {
    var offset: Int64
    var bytes: Int32
    var isFinished: Bool
  }

  let generation: UInt64
  /// Behind the last record read.
  private(set) var readTo: Int64
  /// Finished offsets behind `readTo`, known from an earlier run.
  private var known: OffsetRanges
  private var entries = Fifo<Entry>()
  /// The number of the first entry; a record's number is its place among all that were read.
  private var firstNumber = 0
  /// Bytes from the first unfinished record to the last one read.
  private(set) var bytesAhead = 0
  /// Records being handled.
  var running = 0
  /// Nothing is begun any more; it goes over to another member.
  var isRevoked = false
  /// The reader has more and waits for room.
  var wantsRoom = false
  /// Whether something was finished since the last commit.
  var isChanged = false

  init(generation: UInt64, at offset: Int64, finished: OffsetRanges) {
    self.generation = generation
    readTo = offset
    known = finished
    known.removeAll(below: offset)
  }

  /// Records from the first unfinished one to the last one read.
  var recordsAhead: Int { entries.count }
  /// Everything before is finished.
  var frontier: Int64 { entries.first?.offset ?? readTo }

  func isKnown(_ offset: Int64) -> Bool { known.contains(offset) }

  /// Adds the record at `offset`, which lies behind all before; returns its number.
  mutating func add(_ offset: Int64, bytes: Int, isFinished: Bool) -> Int {
    let number = firstNumber + entries.count
    entries.append(Entry(offset: offset, bytes: Int32(clamping: bytes), isFinished: isFinished))
    bytesAhead += bytes
    readTo = offset + 1
    if isFinished {
      isChanged = true
      dropFinished()
    }
    return number
  }

  /// There is no record before `offset` that was not added.
  mutating func advance(to offset: Int64) {
    if offset <= readTo { return }
    readTo = offset
    known.removeAll(below: offset)
    isChanged = true
  }

  mutating func finish(_ number: Int) {
    entries[number - firstNumber].isFinished = true
    isChanged = true
    dropFinished()
  }

  private mutating func dropFinished() {
    while let first = entries.first, first.isFinished {
      _ = entries.popFirst()
      firstNumber += 1
      bytesAhead -= Int(first.bytes)
    }
  }

  /// Everything finished behind the frontier.
  var finishedBehind: OffsetRanges {
    var ranges = OffsetRanges()
    var start: Int64?
    for index in 0..<entries.count {
      let entry = entries[index]
      if entry.isFinished {
        start = start ?? entry.offset
      } else if let from = start {
        // Offsets without a record in between are as good as finished.
        ranges.insert(from..<entry.offset)
        start = nil
      }
    }
    if let start { ranges.insert(start..<readTo) }
    for range in known.ranges where range.upperBound > readTo {
      ranges.insert(max(range.lowerBound, readTo)..<range.upperBound)
    }
    return ranges
  }
}
