public import Bytes

/// The keyed state of one operator in one subtask: a value or nil for each key.
///
/// Holds hot and changed entries in memory over its backing; a miss reads the last commit. One thread at a time. The
/// closures given to it are specialised where it is used: about 20–40 ns per record with a million keys.
@safe
public final class KeyedState<Value> {
  @usableFromInline let table: KeyTable
  @usableFromInline let backing: any KeyedBacking<Value>
  @usableFromInline let commits = CommitProgress()
  /// Commits up to here are seen by the backing: entries last changed at or before it may be evicted.
  var visibleEpoch: UInt64 = 0
  var hand = 0
  /// Average bytes that a value takes outside its entry, estimated by its encoded size.
  var outsideBytes = 0
  /// The number of entries at which those of absent keys are let go.
  var purgeAt = 4_096
  /// The changes that are not in the backing yet in the order of their keys, where that is asked for.
  var order: ChangeOrder?
  /// The failed load that left entries without values; every later use throws it again.
  @usableFromInline var failure: (any Error)?
  @usableFromInline var undo: [(entry: UnsafeMutableRawPointer, value: Value?)] = unsafe []
  // One thread, no access that lasts beyond a statement: checking each for overlap costs more than it guards.
  @usableFromInline @exclusivity(unchecked) var chunkStart = 0
  @usableFromInline @exclusivity(unchecked) var chunkCount = 0
  @usableFromInline var maximumCount: Int

  /// The memory that entries may take, in bytes, before clean and committed ones are evicted. Changed entries stay in
  /// any case; see `isOverBudget`.
  public var memoryBudget: Int {
    didSet { maximumCount = entries(in: memoryBudget) }
  }

  /// Whether each change is remembered until `keepChanges` or undone by `undoChanges`. Off unless a record may fail and
  /// be skipped.
  public var isUndoable = false

  /// - Parameters:
  ///   - backing: what is read on a miss and what seals.
  ///   - memoryBudget: bytes; no limit unless given.
  public init(backing: any KeyedBacking<Value>, memoryBudget: Int = .max) {
    self.backing = backing
    self.memoryBudget = memoryBudget
    table = KeyTable(
      valueOffset: Self.valueOffset, valueSize: MemoryLayout<Value?>.size, alignment: MemoryLayout<Value?>.alignment)
    maximumCount = .max
    maximumCount = entries(in: memoryBudget)
  }

  deinit {
    if _isPOD(Value.self) { return }
    unsafe forEachSlot { _, entry, _ in unsafe Self.value(entry).deinitialize(count: 1) }
  }

  /// Records that `prepare` takes at once.
  public static var chunk: Int { 128 }

  @inlinable
  static var valueOffset: Int {
    let alignment = MemoryLayout<Value?>.alignment
    return (KeyTable.entryHead + alignment - 1) / alignment * alignment
  }

  @inlinable
  @inline(__always)
  static func value(_ entry: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Value?> {
    unsafe (entry + valueOffset).assumingMemoryBound(to: Value?.self)
  }
}

// MARK: - Records

extension KeyedState {
  /// Calls `body` with each record's index in `range` and its key's value, to read and to change.
  ///
  /// A value made non-nil, changed, or made nil is part of the next seal. `body` must not use this state itself.
  ///
  /// - Throws: what `body` throws (its record's change stays: to undo it, use `update(_:_:recover:_:)`); what the
  ///   backing throws.
  @inlinable
  public func update(
    _ keys: borrowing KeyColumn, _ range: Range<Int>, _ body: (_ index: Int, _ value: inout Value?) throws -> Void
  ) throws {
    var start = range.lowerBound
    while start < range.upperBound {
      let count = min(KeyTable.chunk, range.upperBound &- start)
      try prepare(keys, start..<start &+ count)
      let table = table
      let found = unsafe table.found
      let epoch = table.epoch
      for offset in 0..<count {
        let entry = unsafe found[offset]
        let value = unsafe Self.value(entry)
        try unsafe body(start &+ offset, &value.pointee)
        let header = unsafe KeyTable.header(entry)
        if header &>> KeyTable.Header.epochShift != epoch {
          unsafe noteChange(entry, header, isNil: value.pointee == nil)
        }
      }
      start &+= count
    }
  }

  /// As `update`, for operators that may skip a record: when `body` throws, the record's value is as before and
  /// `recover` decides, by returning or throwing, whether to go on. Costs a copy of each value.
  @inlinable
  public func update(
    _ keys: borrowing KeyColumn, _ range: Range<Int>, recover: (_ index: Int, _ error: any Error) throws -> Void,
    _ body: (_ index: Int, _ value: inout Value?) throws -> Void
  ) throws {
    var start = range.lowerBound
    while start < range.upperBound {
      let count = min(KeyTable.chunk, range.upperBound &- start)
      try prepare(keys, start..<start &+ count)
      for index in start..<start &+ count {
        let value = unsafe Self.value(table.found[index &- start])
        let before = unsafe value.pointee
        do {
          try change(at: index, body: { try body(index, &$0) })
        } catch {
          unsafe value.pointee = before
          try recover(index, error)
        }
      }
      start &+= count
    }
  }

  /// Calls `body` with each record's value, without changing any.
  @inlinable
  public func read(
    _ keys: borrowing KeyColumn, _ range: Range<Int>, _ body: (_ index: Int, _ value: Value?) throws -> Void
  ) throws {
    var start = range.lowerBound
    while start < range.upperBound {
      let count = min(KeyTable.chunk, range.upperBound &- start)
      try prepare(keys, start..<start &+ count)
      let found = unsafe table.found
      for offset in 0..<count { try unsafe body(start &+ offset, Self.value(found[offset]).pointee) }
      start &+= count
    }
  }

  /// Finds or loads the entries of `range`, at most `chunk` records, so that `change(at:)` and `value(at:)` can be
  /// called for them, in any order and beside other states prepared for the same records, until the next `prepare`.
  @inlinable
  public func prepare(_ keys: borrowing KeyColumn, _ range: Range<Int>) throws {
    precondition(
      range.count <= KeyTable.chunk && range.lowerBound >= 0 && range.upperBound <= keys.count,
      "prepare takes at most 128 keys of the column")
    if table.count &+ range.count > maximumCount || failure != nil { try makeRoom(for: range.count) }
    unsafe chunkStart = range.lowerBound
    unsafe chunkCount = range.count
    let made = table.resolve(keys, range.lowerBound, range.count)
    if made > 0 { try load(keys, made) }
  }

  /// The value of prepared record `index`.
  @inlinable
  public func value(at index: Int) -> Value? { unsafe Self.value(entry(at: index)).pointee }

  /// Calls `body` with the value of prepared record `index`, to read and to change.
  @inlinable
  @inline(__always)
  public func change<R>(at index: Int, body: (inout Value?) throws -> R) rethrows -> R {
    let entry = unsafe entry(at: index)
    let value = unsafe Self.value(entry)
    if isUndoable { unsafe undo.append((entry, value.pointee)) }
    let result = try unsafe body(&value.pointee)
    let header = unsafe KeyTable.header(entry)
    if header &>> KeyTable.Header.epochShift != table.epoch {
      unsafe noteChange(entry, header, isNil: value.pointee == nil)
    }
    return result
  }

  /// Forgets the changes remembered so far: the record succeeded.
  @inlinable
  public func keepChanges() {
    if unsafe !undo.isEmpty { unsafe undo.removeAll(keepingCapacity: true) }
  }

  /// Takes back every change since the last `keepChanges`: the record failed.
  @inlinable
  public func undoChanges() {
    while let (entry, value) = unsafe undo.popLast() { unsafe Self.value(entry).pointee = value }
  }

  @inlinable
  @inline(__always)
  func entry(at index: Int) -> UnsafeMutableRawPointer {
    let offset = unsafe index &- chunkStart
    unsafe precondition(offset >= 0 && offset < chunkCount, "the record was not prepared")
    return unsafe table.found[offset]
  }

  @inlinable
  @inline(__always)
  func noteChange(_ entry: UnsafeMutableRawPointer, _ header: UInt64, isNil: Bool) {
    // A nil that was nil is no change: looking a key up stores nothing.
    if isNil && header & KeyTable.Header.absent != 0 { return }
    unsafe table.markDirty(entry, header: header)
  }

  /// Gives the `made` new entries of the chunk their values.
  @inlinable
  @inline(never)
  func load(_ keys: borrowing KeyColumn, _ made: Int) throws {
    let start = unsafe chunkStart
    for position in 0..<made {
      let index = unsafe table.fresh[position]
      let entry = unsafe table.found[index]
      if failure == nil {
        do {
          let hash = keys.hash(at: start &+ index).value
          let loaded = try unsafe keys.withBytes(at: start &+ index) { try unsafe backing.load($0, hash: hash) }
          if loaded != nil {
            unsafe entry.storeBytes(of: KeyTable.header(entry) & ~KeyTable.Header.absent, as: UInt64.self)
          }
          unsafe Self.value(entry).initialize(to: loaded)
          continue
        } catch {
          failure = error
        }
      }
      unsafe Self.value(entry).initialize(to: nil)
    }
    if let failure { throw failure }
  }
}
