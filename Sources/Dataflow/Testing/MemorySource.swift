public import Bytes
import Synchronization

/// Records held in memory, in partitions, to be read from any position: for tests and measurements. More may be
/// appended while a job runs.
public final class MemorySource<Element: Sendable>: Source {
  struct Entry: Sendable {
    let element: Element
    let time: Timestamp
    let key: [UInt8]
  }

  struct State {
    var partitions: [[Entry]]
    var wakers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  public let name: String
  let state: Mutex<State>
  private let durable = Mutex<[Int64]>([])

  public init(_ name: String, partitions: Int = 1) {
    self.name = name
    state = Mutex(State(partitions: Array(repeating: [], count: max(1, partitions))))
  }

  /// Appends a record to a partition.
  public func append(_ element: Element, at time: Timestamp, key: [UInt8] = [], partition: Int = 0) {
    let wakers = state.withLock { state in
      state.partitions[partition].append(Entry(element: element, time: time, key: key))
      return Array(state.wakers.values)
    }
    for wake in wakers { wake() }
  }

  public var partitionCount: Int { state.withLock { $0.partitions.count } }

  public func startPositions() throws -> [Int64] { state.withLock { $0.partitions.map { _ in 0 } } }

  public func endPositions() throws -> [Int64] { state.withLock { $0.partitions.map { Int64($0.count) } } }

  public func ensureDurable(_ positions: [Int64]) throws { durable.withLock { $0 = positions } }

  /// The positions that were made durable last, one per partition.
  public var durablePositions: [Int64] { durable.withLock { $0 } }

  public func open(_ request: SourceRequest) throws -> MemoryReader<Element> {
    let counts = state.withLock { $0.partitions.map(\.count) }
    for partition in request.partitions {
      guard (0...Int64(counts[partition.index])).contains(partition.start) else {
        throw DataflowError(
          .sourceFailed, name,
          "position \(partition.start) of partition \(partition.index) is outside 0…\(counts[partition.index])")
      }
    }
    let reader = MemoryReader(self, request)
    state.withLock { $0.wakers[ObjectIdentifier(reader)] = request.wake }
    return reader
  }
}

/// Reads a `MemorySource`, partition after partition in turn.
public final class MemoryReader<Element: Sendable>: SourceReader {
  private let source: MemorySource<Element>
  private let request: SourceRequest
  private var positions: [Int]
  private var turn = 0
  private var paused: Set<Int> = []

  init(_ source: MemorySource<Element>, _ request: SourceRequest) {
    self.source = source
    self.request = request
    positions = request.partitions.map { Int($0.start) }
  }

  public func close() { source.state.withLock { $0.wakers[ObjectIdentifier(self)] = nil } }

  public func pause(_ partitions: Set<Int>) -> Bool {
    paused = partitions
    return true
  }

  public func poll(into output: inout SourceBatch<Element>, limit: Int) throws {
    for _ in positions.indices {
      let slot = turn
      turn = turn + 1 == positions.count ? 0 : turn + 1
      let partition = request.partitions[slot]
      if paused.contains(partition.index) { continue }
      let entries = source.state.withLock { state in
        let all = state.partitions[partition.index]
        let end = min(all.count, partition.end.map { Int($0) } ?? .max, positions[slot] + limit)
        return positions[slot] < end ? Array(all[positions[slot]..<end]) : []
      }
      if entries.isEmpty { continue }
      for entry in entries {
        output.records.append(entry.element, at: entry.time)
        if request.wantsKeys { unsafe entry.key.withUnsafeBytes { unsafe output.records.keys.append($0) } }
      }
      positions[slot] += entries.count
      output.advance(partition: partition.index, to: Int64(positions[slot]))
      return
    }
  }
}
