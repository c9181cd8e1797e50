import Bytes
import LMDB

extension TableSpace {
  /// Combines neighbouring runs into one, so that a look-up passes few; returns the bytes written.
  ///
  /// Runs are taken by size class (a class is `combineCount` times the one below): when the newest ones up to some
  /// class are enough, they become one run. An entry is so rewritten once per class. Beyond `maximumRuns`, whatever
  /// costs least.
  func combineSmall(
    _ table: TableID, _ state: inout TableState, _ format: any BlockFormat,
    in transaction: borrowing WriteTransaction, _ budget: MaintenanceBudget
  ) throws -> Int {
    let first = state.sweep?.frozen ?? 0
    let end = state.runs.prefix { $0.transaction < transaction.id }.count
    guard end - first > 1 else { return 0 }
    guard let range = combinable(state.runs, first..<end, budget.bytes / 2) else { return 0 }
    return try combine(table, &state, range, format, in: transaction)
  }

  /// Which of the runs in `range` to combine now, if any.
  private func combinable(_ runs: [TableState.RunRecord], _ range: Range<Int>, _ limit: Int) -> Range<Int>? {
    let count = max(options.combineCount, 2)
    var classBytes = 64 << 10
    while classBytes <= limit * count {
      var start = range.upperBound
      var bytes = 0
      while start > range.lowerBound, runs[start - 1].bytes <= classBytes {
        start -= 1
        bytes += runs[start].bytes
      }
      if range.upperBound - start >= count && bytes <= limit { return start..<range.upperBound }
      classBytes *= count
    }
    guard runs.count > options.maximumRuns else { return nil }
    // The neighbours that cost least together.
    let width = min(max(count, runs.count - options.maximumRuns + 1), range.count)
    var best: Range<Int>?
    var bestBytes = Int.max
    for start in range.lowerBound...(range.upperBound - width) {
      let bytes = runs[start..<start + width].reduce(0) { $0 + $1.bytes }
      if bytes < bestBytes {
        bestBytes = bytes
        best = start..<start + width
      }
    }
    return best
  }

  private func combine(
    _ table: TableID, _ state: inout TableState, _ range: Range<Int>, _ format: any BlockFormat,
    in transaction: borrowing WriteTransaction
  ) throws -> Int {
    let records = Array(state.runs[range])
    var readers: [RunReader] = []
    for record in records.reversed() { try readers.append(RunReader(record, table, pages, in: transaction)) }
    var merge = unsafe RunMerge(readers, atLeast: nil)
    var builder = RunBuilder(chunkBytes: options.chunkBytes)
    let overlay = Overlay(format)
    while let change = try overlay.take(&merge) {
      builder.append(change)
      overlay.forget()
    }
    let run = builder.finish()
    for record in records { try deleteRun(record, of: table, in: transaction) }
    state.runs.removeSubrange(range)
    try append(run, to: table, &state, at: range.lowerBound, in: transaction)
    return run.byteCount
  }
}

/// Lays the versions of a key over each other and keeps what that makes in stable memory.
@safe
final class Overlay {
  private let format: any BlockFormat
  private var scratch = ByteBuffer(capacity: 256)
  private var made: [UnsafeMutableRawBufferPointer] = unsafe []

  /// Whether the newest change of a key is all that counts.
  private let isPlain: Bool
  private var versions: [Change] = []

  init(_ format: any BlockFormat) {
    self.format = format
    isPlain = format is PackedBlocks
  }

  /// Takes what the next key's changes amount to; valid until `forget`.
  func take(_ merge: inout RunMerge) throws -> Change? {
    if isPlain { return merge.takeNewest() }
    guard merge.current != nil else { return nil }
    merge.take(into: &versions)
    return try change(versions)
  }

  deinit { forget() }

  /// Frees the payloads made so far.
  func forget() {
    if isPlain { return }
    for index in 0..<(unsafe made.count) { unsafe made[index].deallocate() }
    unsafe made.removeAll(keepingCapacity: true)
  }

  /// The change that `versions` (newest first, at least one) amount to; valid until `forget`.
  private func change(_ versions: [Change]) throws -> Change {
    var result = versions[0]
    var next = 1
    while next < versions.count && !format.isWhole(result) {
      scratch.removeAll()
      let isTombstone = try format.combine(result, over: versions[next], into: &scratch)
      let payload = UnsafeMutableRawBufferPointer.allocate(byteCount: max(scratch.count, 1), alignment: 8)
      unsafe payload.copyMemory(from: scratch.bytes)
      unsafe made.append(payload)
      result = unsafe Change(
        key: result.key, payload: UnsafeRawBufferPointer(payload).slice(0, scratch.count), isTombstone: isTombstone)
      next += 1
    }
    return result
  }
}
