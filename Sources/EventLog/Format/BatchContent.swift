import Bytes

/// What follows a batch's header.
///
/// | part | when | meaning |
/// |---|---|---|
/// | u32 | compressed | the size of the rest before it was compressed; the rest is one zstd frame |
/// | u32 × records | compacted | each record's offset less the batch's first offset, rising |
/// | | | the records |
@safe
struct BatchContent {
  // Invariant: both point into memory that the one who made the content keeps; `distances` has a number per record.
  let records: UnsafeRawBufferPointer
  let distances: UnsafeRawPointer?

  /// The parts of uncompressed `bytes`; nil if the list of offsets cannot be right.
  init?(_ bytes: UnsafeRawBufferPointer, _ header: BatchHeader) {
    guard header.flags.contains(.compacted) else {
      unsafe records = unsafe bytes
      unsafe distances = nil
      return
    }
    let listed = header.count * 4
    guard bytes.count >= listed else { return nil }
    var least: Int64 = 0
    for index in 0..<header.count {
      let distance = Int64(unsafe bytes.little(UInt32.self, at: index * 4))
      if distance < least { return nil }
      least = distance + 1
    }
    guard least - 1 <= header.lastOffset - header.firstOffset else { return nil }
    unsafe records = unsafe bytes.slice(listed, bytes.count - listed)
    unsafe distances = bytes.baseAddress
  }
}

/// Checks batches and opens them: one reader's, with the memory into which it decompresses.
@safe
final class BatchOpener {
  private var decompressor = BatchDecompressor()
  // Where iterators tell of framing that does not fit; lives as long as the opener.
  private let fault: UnsafeMutablePointer<Bool>

  init() {
    unsafe fault = .allocate(capacity: 1)
    unsafe fault.initialize(to: false)
  }

  deinit { unsafe fault.deallocate() }

  enum Outcome {
    case batch(LogBatch)
    case damaged(String)
  }

  /// The batch in `value`, found in `partition` at `offset`, from `wanted` on; valid until the next one is opened.
  /// `isTrusted`: its checksum has been verified before.
  func open(
    _ value: UnsafeRawBufferPointer, partition: Int, offset: Int64, from wanted: Int64, isTrusted: Bool = false
  ) -> Outcome {
    if let reason = unsafe BatchHeader.fault(in: value, partition: partition, offset: offset, isTrusted: isTrusted) {
      return .damaged(reason)
    }
    let header = unsafe BatchHeader(value)
    var bytes = unsafe value.slice(BatchHeader.size, value.count - BatchHeader.size)
    if header.flags.contains(.compressed) {
      guard let opened = unsafe decompressor.decompress(bytes) else {
        return .damaged("the compressed records of a batch cannot be decompressed")
      }
      unsafe bytes = unsafe opened
    }
    guard let content = unsafe BatchContent(bytes, header) else {
      return .damaged("the offsets that a batch lists do not fit its range")
    }
    let batch = unsafe LogBatch(header, content, from: wanted, fault: fault)
    return takeFault() ?? .batch(batch)
  }

  /// The fault that an iteration over the last batch met, if one did; forgotten then.
  func takeFault() -> Outcome? {
    if unsafe !fault.pointee { return nil }
    unsafe fault.pointee = false
    return .damaged("the records of a batch do not fit its length")
  }
}
