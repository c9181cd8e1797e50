import LMDB
import Synchronization

/// The segments that were used lately, open: at most `capacity` of them, over all topics, live ones and sealed ones.
///
/// A segment that is pushed out stays open for those who are in the middle of it, and is closed after the last.
final class SegmentPool: Sendable {
  private struct Entry {
    var file: SegmentFile
    var usedAt: UInt64
  }

  private struct State {
    var files: [String: Entry] = [:]
    /// Of segments that were removed lately: whoever opened one just before does not put it here any more.
    var removed: [String] = []
    var uses: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// The open segment at `path`, opened by `open` if need be.
  func segment(
    _ path: String, _ open: () throws(EventLogError) -> SegmentFile
  ) throws(EventLogError) -> SegmentFile {
    let known = state.withLock { state -> SegmentFile? in
      state.uses += 1
      state.files[path]?.usedAt = state.uses
      return state.files[path]?.file
    }
    if let known { return known }
    // Opened outside the lock: a second opener gets the same environment from the registry.
    let opened = try open()
    let evicted = state.withLock { state -> [SegmentFile] in
      if state.isClosed || state.removed.contains(path) { return [] }
      state.uses += 1
      state.files[path] = Entry(file: opened, usedAt: state.uses)
      var evicted: [SegmentFile] = []
      while state.files.count > capacity, let oldest = state.files.min(by: { $0.value.usedAt < $1.value.usedAt }) {
        evicted.append(oldest.value.file)
        state.files[oldest.key] = nil
      }
      return evicted
    }
    // Closing, if these are the last references, happens outside the lock too.
    withExtendedLifetime(evicted) {}
    return opened
  }

  /// Lets go of a segment that is being removed.
  func forget(_ path: String) {
    let file = state.withLock { state in
      state.removed.append(path)
      if state.removed.count > 64 { state.removed.removeFirst() }
      return state.files.removeValue(forKey: path)
    }
    withExtendedLifetime(file) {}
  }

  /// Lets go of all, and keeps none any more.
  func close() {
    let files = state.withLock { state in
      state.isClosed = true
      defer { state.files = [:] }
      return state.files
    }
    withExtendedLifetime(files) {}
  }

  var count: Int { state.withLock { $0.files.count } }
}
