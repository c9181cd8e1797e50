import Bytes
import LMDB
public import Records
import Tables

/// A map that is the same on every subtask: what a broadcast stream has made of it so far. Held in memory whole, on
/// each subtask; in the checkpoint once.
///
/// Closures for keyed records read it; those for broadcast records change it through `BroadcastChanges`.
public final class BroadcastState<Key: KeyEncodable & Hashable, Value: Record> {
  @usableFromInline var values: [Key: Value] = [:]
  private var order: [Key]?
  /// Keeps the checkpoint's copy; on one subtask only.
  private let state: KeyedState<Value>?
  /// What a broadcast record changed, to be taken back if it fails: keys and their values before.
  private var journal: [(key: Key, before: Value?)] = []
  private var column = KeyColumn(capacity: 1)

  @usableFromInline
  init(_ state: KeyedState<Value>?) { self.state = state }

  /// The value of `key`, or nil.
  @inlinable
  public subscript(key: Key) -> Value? { values[key] }

  public var count: Int { values.count }
  public var isEmpty: Bool { values.isEmpty }

  /// The keys in the order of their canonical bytes, the same on every subtask; sorted after a change when they are
  /// next asked for.
  public var keys: [Key] {
    if let order { return order }
    var bytes: [(bytes: [UInt8], key: Key)] = []
    for key in values.keys {
      var buffer = ByteBuffer(capacity: 32)
      key.encodeKey(into: &buffer)
      bytes.append((buffer.array, key))
    }
    let sorted = bytes.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.key)
    order = sorted
    return sorted
  }

  func load(_ key: Key, _ value: Value) { values[key] = value }

  func set(_ value: Value?, for key: Key) {
    journal.append((key, values[key]))
    values[key] = value
    order = nil
  }

  @usableFromInline
  func undo() {
    for change in journal.reversed() { values[change.key] = change.before }
    journal.removeAll()
    order = nil
  }

  /// The record succeeded: what it changed becomes part of the next checkpoint.
  @usableFromInline
  func keep() throws {
    if let state {
      for change in journal {
        column.removeAll()
        column.append(change.key)
        try state.update(column, 0..<1) { _, value in value = values[change.key] }
      }
    }
    journal.removeAll(keepingCapacity: true)
  }
}

/// The way to change a broadcast state, for the closure that takes broadcast records. It must do the same for the same
/// records: every subtask runs it for itself.
public struct BroadcastChanges<Key: KeyEncodable & Hashable, Value: Record> {
  let state: BroadcastState<Key, Value>

  @usableFromInline
  init(_ state: BroadcastState<Key, Value>) { self.state = state }

  /// The value of `key`; setting nil removes it.
  public subscript(key: Key) -> Value? {
    get { state.values[key] }
    nonmutating set { state.set(newValue, for: key) }
  }

  /// The keys in the order of their canonical bytes.
  public var keys: [Key] { state.keys }

  /// Removes everything.
  public func removeAll() { for key in state.keys { state.set(nil, for: key) } }
}

extension OperatorContext {
  /// The broadcast state called `name`, with what the last checkpoint holds of it.
  @usableFromInline
  func broadcastState<Key: KeyEncodable & Hashable, Value: Record>(
    _ name: String, _: Key.Type, _: Value.Type
  ) throws -> BroadcastState<Key, Value> {
    let table = try stateTable(name, of: Value.self)
    let backing = StateTableBacking(table, snapshot: snapshot)
    let result = BroadcastState<Key, Value>(subtask == 0 ? keyedState(over: backing) : nil)
    try environment.read { transaction in
      let reader = try checkpoints.tables.reader(table.table, in: transaction)
      if reader.isEmpty { return }
      try unsafe reader.forEach(in: transaction) { bytes, value in
        guard bytes.count >= 1, let key = unsafe Key.decodeKey(bytes.slice(1, bytes.count - 1)) else {
          throw DataflowError(.damaged, name, "a key of its table is no \(Key.self); was its type changed?")
        }
        result.load(key, try unsafe table.decode(value))
        return true
      }
    }
    return result
  }
}
