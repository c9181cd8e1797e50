public import Bytes

/// A batch being filled: room for the header, then the records as they will lie on disk.
///
/// One owner at a time: an appender, the queue of its topic, or the topic's writer thread.
@usableFromInline
struct OpenBatch: ~Copyable {
  /// The most records of a batch.
  static let maximumCount = 65_536

  @usableFromInline var buffer: ByteBuffer
  @usableFromInline var count = 0
  @usableFromInline var baseTimestamp: Int64 = 0
  @usableFromInline var minimumTimestamp: Int64 = .max
  @usableFromInline var maximumTimestamp: Int64 = .min
  @usableFromInline var partition = 0
  var producer: ProducerID?
  /// The producer's number of the first record.
  var sequence: Int64 = -1
  /// Who waits for the batch.
  var waiters: [AppendWaiter] = []
  /// What counts the batch, if records in it have nobody waiting.
  var progress: AppendProgress?
  /// How many records have nobody waiting.
  var unawaited = 0
  /// The checksum of what will be stored behind the header, once no more is added; nil while nobody has computed it.
  var recordsChecksum: UInt32?
  /// What it is committed together with, or not at all, and whether it is not the first batch of that.
  var unit: AppendUnit?
  /// Whether it is acknowledged after the sync only, whatever the topic's durability.
  var mustSync = false
  var continuesUnit = false
  /// Whether its records get the time of their commit: they are all framed with the time 0 meanwhile.
  @usableFromInline var isStamped = false
  /// How many records at its front were dropped as repeats.
  var dropped = 0
  /// What is stored instead of `buffer`, if anything is in it: room for the header, then the records compressed.
  private var compressed = ByteBuffer(capacity: 16)

  init() {
    buffer = ByteBuffer(capacity: 4096)
    reset(partition: 0)
  }

  /// Lets go of what waits for the batch.
  mutating func forget() {
    waiters = []
    progress = nil
    unit = nil
  }

  /// Empties the batch and keeps its memory, unless it grew far beyond the usual.
  mutating func reset(partition: Int, isStamped: Bool = false) {
    if buffer.count > 1 << 20 {
      buffer = ByteBuffer(capacity: 4096)
      compressed = ByteBuffer(capacity: 16)
    } else {
      buffer.removeAll()
      compressed.removeAll()
    }
    let header = unsafe buffer.appendUninitialized(BatchHeader.size)
    unsafe header.initializeMemory(as: UInt8.self, repeating: 0)
    count = 0
    minimumTimestamp = .max
    maximumTimestamp = .min
    self.partition = partition
    producer = nil
    sequence = -1
    forget()
    unawaited = 0
    recordsChecksum = nil
    continuesUnit = false
    mustSync = false
    self.isStamped = isStamped
    dropped = 0
  }

  /// The size in memory so far; on disk, too, unless it is compressed.
  @inlinable
  var byteCount: Int { buffer.count }

  @inlinable
  @inline(__always)
  mutating func note(_ timestamp: Int64) {
    if count == 0 { baseTimestamp = timestamp }
    minimumTimestamp = min(minimumTimestamp, timestamp)
    maximumTimestamp = max(maximumTimestamp, timestamp)
    count &+= 1
  }

  /// Adds a record without headers. The sizes have been checked.
  @inlinable
  mutating func append(key: UnsafeRawBufferPointer, hasKey: Bool, value: UnsafeRawBufferPointer, timestamp: Int64) {
    let timestamp = isStamped ? 0 : timestamp
    note(timestamp)
    let field = RecordFraming.timestampField(timestamp, base: baseTimestamp)
    let word = RecordFraming.prefix(
      valueCount: value.count, keyField: hasKey ? UInt64(truncatingIfNeeded: key.count) : RecordFraming.noKey,
      flags: 0, timestampField: field)
    let far = field == RecordFraming.farTimestamp ? 8 : 0
    let place = unsafe buffer.appendUninitialized(8 &+ far &+ key.count &+ value.count)
    guard var out = place.baseAddress else { return }
    unsafe out.storeBytes(of: word.littleEndian, as: UInt64.self)
    unsafe out += 8
    if far != 0 {
      unsafe out.storeBytes(of: timestamp.littleEndian, as: Int64.self)
      unsafe out += 8
    }
    if let source = key.baseAddress { unsafe out.copyMemory(from: source, byteCount: key.count) }
    unsafe out += key.count
    if let source = value.baseAddress { unsafe out.copyMemory(from: source, byteCount: value.count) }
  }

  /// Adds a record with encoded headers, which may be empty.
  mutating func append(
    key: UnsafeRawBufferPointer, hasKey: Bool, value: UnsafeRawBufferPointer, timestamp: Int64, headers: [UInt8]
  ) {
    if headers.isEmpty { return unsafe append(key: key, hasKey: hasKey, value: value, timestamp: timestamp) }
    let timestamp = isStamped ? 0 : timestamp
    note(timestamp)
    let field = RecordFraming.timestampField(timestamp, base: baseTimestamp)
    buffer.append(
      RecordFraming.prefix(
        valueCount: value.count, keyField: hasKey ? UInt64(truncatingIfNeeded: key.count) : RecordFraming.noKey,
        flags: RecordFraming.headersFlag, timestampField: field))
    if field == RecordFraming.farTimestamp { buffer.append(timestamp) }
    buffer.append(UInt32(truncatingIfNeeded: headers.count))
    unsafe buffer.append(key)
    unsafe buffer.append(value)
    buffer.append(headers)
  }

  /// Adds a record whose value `encode` appends to the buffer; undone if it throws or goes above `limit` bytes.
  ///
  /// Returns the size of key and value if they are above the limit, else nil.
  @inlinable
  mutating func append(
    key: UnsafeRawBufferPointer, hasKey: Bool, timestamp: Int64, limit: Int,
    encode: (inout ByteBuffer) throws -> Void
  ) rethrows -> Int? {
    let timestamp = isStamped ? 0 : timestamp
    let start = buffer.count
    let base = count == 0 ? timestamp : baseTimestamp
    let field = RecordFraming.timestampField(timestamp, base: base)
    buffer.append(UInt64(0))
    if field == RecordFraming.farTimestamp { buffer.append(timestamp) }
    unsafe buffer.append(key)
    let valueStart = buffer.count
    do {
      try encode(&buffer)
    } catch {
      buffer.truncate(to: start)
      throw error
    }
    precondition(buffer.count >= valueStart, "a value's encoder may only append")
    let valueCount = buffer.count &- valueStart
    if key.count &+ valueCount > limit {
      buffer.truncate(to: start)
      return key.count &+ valueCount
    }
    note(timestamp)
    let word = RecordFraming.prefix(
      valueCount: valueCount, keyField: hasKey ? UInt64(truncatingIfNeeded: key.count) : RecordFraming.noKey,
      flags: 0, timestampField: field)
    unsafe buffer.mutableBytes.storeBytes(of: word.littleEndian, toByteOffset: start, as: UInt64.self)
    return nil
  }

  /// Makes what will be stored, once no more is added: compresses the records, if `level` is not 0 and it makes them
  /// smaller, and computes the checksum. On the appender's thread where there is one, because the writer's work is what
  /// everybody waits for.
  mutating func prepare(_ compressor: BatchCompressor, level: Int) {
    compressed.removeAll()
    if level > 0 {
      unsafe compressed.append(buffer.bytes.slice(0, BatchHeader.size))
      let records = unsafe buffer.bytes.slice(BatchHeader.size, buffer.count - BatchHeader.size)
      if unsafe !compressor.compress(records, level: level, into: &compressed) { compressed.removeAll() }
    }
    recordsChecksum = unsafe BatchHeader.recordsChecksum(stored)
  }

  /// Header and records as they are stored; valid until the next change.
  @unsafe
  var stored: UnsafeRawBufferPointer { unsafe compressed.count > 0 ? compressed.bytes : buffer.bytes }

  /// Writes the header in front of what is stored.
  mutating func write(_ header: BatchHeader) {
    if compressed.count > 0 {
      unsafe header.write(to: compressed.mutableBytes, recordsChecksum: recordsChecksum)
    } else {
      unsafe header.write(to: buffer.mutableBytes, recordsChecksum: recordsChecksum)
    }
  }

  /// The header of the batch beginning at `offset`.
  func header(firstOffset offset: Int64) -> BatchHeader {
    var header = BatchHeader()
    header.count = count
    header.firstOffset = offset
    header.lastOffset = offset + Int64(count) - 1
    header.baseTimestamp = baseTimestamp
    header.minimumTimestamp = minimumTimestamp
    header.maximumTimestamp = maximumTimestamp
    header.producer = producer?.id ?? 0
    header.epoch = producer?.epoch ?? 0
    header.sequence = producer == nil ? -1 : sequence
    header.partition = partition
    header.flags = compressed.count > 0 ? [.compressed] : []
    header.recordBytes = unsafe stored.count - BatchHeader.size
    return header
  }

  /// Removes the first `dropped` records: those that an idempotent producer had appended before.
  mutating func dropFirst(_ dropped: Int) {
    guard dropped > 0, dropped < count else { return }
    var fault = false
    let kept = unsafe withUnsafeMutablePointer(to: &fault) { fault in
      let records = unsafe buffer.bytes.slice(BatchHeader.size, buffer.count - BatchHeader.size)
      return unsafe [UInt8](LogBatch.dropping(dropped, of: records, header(firstOffset: 0), fault))
    }
    buffer.truncate(to: BatchHeader.size)
    buffer.append(kept)
    compressed.removeAll()
    count -= dropped
    sequence += Int64(dropped)
    recordsChecksum = nil
    self.dropped += dropped
  }
}

/// The place of an open batch on the heap: handed from owner to owner and used again.
@usableFromInline
@safe
struct BatchHandle {
  // Invariant: allocated and initialised by `make`; used by one owner at a time; freed by `free`.
  @usableFromInline let pointer: UnsafeMutablePointer<OpenBatch>

  static func make() -> BatchHandle {
    let pointer = UnsafeMutablePointer<OpenBatch>.allocate(capacity: 1)
    unsafe pointer.initialize(to: OpenBatch())
    return unsafe BatchHandle(pointer: pointer)
  }

  init(pointer: UnsafeMutablePointer<OpenBatch>) { unsafe self.pointer = unsafe pointer }

  func free() {
    unsafe pointer.deinitialize(count: 1)
    unsafe pointer.deallocate()
  }
}

// Handed over under a lock or on one thread, never shared.
extension BatchHandle: @unchecked Sendable {}
