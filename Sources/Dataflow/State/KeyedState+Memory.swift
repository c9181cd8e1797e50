extension KeyedState {
  /// Entries held: hot, changed, and keys looked up and not found.
  public var count: Int { table.count }

  /// Keys changed in the open epoch.
  public var changedCount: Int { table.dirtyCount }

  /// Estimated bytes of memory used, the values' own heap memory by their encoded size.
  public var memory: Int { table.memory + table.count * outsideBytes }

  /// Whether what cannot be evicted exceeds the budget: time for a checkpoint.
  public var isOverBudget: Bool { table.count > maximumCount }

  func entries(in budget: Int) -> Int {
    // An entry, its share of a half-full index, and the value's heap memory; never less than a few chunks.
    max(budget / (table.stride + 24 + outsideBytes), 8 * KeyTable.chunk)
  }

  /// Evicts so that `extra` more entries fit, as far as committed ones allow.
  @usableFromInline
  func makeRoom(for extra: Int) throws {
    if let failure { throw failure }
    try noticeCommits()
    let wanted = table.count + extra - maximumCount
    guard wanted > 0 else { return }
    // An eighth at a time, so that the cost of the index pass is spread.
    evict(max(wanted, maximumCount / 8))
  }

  /// Evicts up to `wanted` entries that are clean, committed and not lately used, going around from where the last
  /// eviction stopped; the second time around used ones too.
  func evict(_ wanted: Int) {
    var left = wanted
    var steps = table.made * 2
    while left > 0 && steps > 0 {
      if hand >= table.made { hand = 0 }
      let slot = hand
      hand += 1
      steps -= 1
      let entry = unsafe table.pointer(slot)
      let header = unsafe KeyTable.header(entry)
      if header & KeyTable.Header.free != 0 || header &>> KeyTable.Header.epochShift > visibleEpoch { continue }
      if header & KeyTable.Header.referenced != 0 {
        unsafe entry.storeBytes(of: header & ~KeyTable.Header.referenced, as: UInt64.self)
        continue
      }
      unsafe Self.value(entry).deinitialize(count: 1)
      table.release(slot)
      left -= 1
    }
    if left < wanted { forgetPrepared() }
  }

  /// Lets go of entries whose key is committed as absent: deleted, or looked up and not found. Without it the entries
  /// of closed windows would stay for good. Done when the number of entries has doubled since the last time.
  func purge() {
    var freed = 0
    unsafe forEachSlot { slot, entry, header in
      if header & KeyTable.Header.absent == 0 || header &>> KeyTable.Header.epochShift > visibleEpoch { return }
      unsafe Self.value(entry).deinitialize(count: 1)
      table.release(slot)
      freed += 1
    }
    if freed > 0 { forgetPrepared() }
    purgeAt = max(4_096, table.count * 2)
  }

  /// After entries were freed: takes them out of the index; what was prepared must be prepared again.
  private func forgetPrepared() {
    table.dropFreed()
    unsafe chunkCount = 0
    // What a record under way has changed is not evicted; what it only looked at has nothing to undo.
    unsafe undo.removeAll { unsafe KeyTable.header($0.entry) & KeyTable.Header.free != 0 }
  }

  /// Keeps the estimate of what a value takes outside its entry.
  func learnSize(of part: any SealedPart) {
    guard !_isPOD(Value.self), let part = part as? SealedTablePart else { return }
    outsideBytes = outsideBytes == 0 ? part.averageBytes : (outsideBytes * 3 + part.averageBytes) / 4
    maximumCount = entries(in: memoryBudget)
  }

  /// Calls `body` for every entry in use.
  func forEachSlot(_ body: (Int, UnsafeMutableRawPointer, UInt64) -> Void) {
    for slot in 0..<table.made {
      let entry = unsafe table.pointer(slot)
      let header = unsafe KeyTable.header(entry)
      if header & KeyTable.Header.free == 0 { unsafe body(slot, entry, header) }
    }
  }
}
