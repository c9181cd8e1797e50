import Bytes
import CZstd
import Synchronization

/// How a topic's batches are compressed. Each batch says for itself, so the setting may change at any time.
public enum Compression: Hashable, Sendable {
  case none
  /// zstd at a level from 1 (fast) to 19 (small). Batches that would not get smaller stay as they are.
  case zstd(level: Int)

  /// Level 3: what zstd itself takes.
  public static let zstd = Compression.zstd(level: 3)

  /// As a number: 0 for none.
  var level: Int {
    if case .zstd(let level) = self { return level }
    return 0
  }

  init(level: Int) { self = level == 0 ? .none : .zstd(level: level) }
}

/// The limits of what is compressed: known before any memory is taken for it.
enum CompressedContent {
  /// The size before compression, u32.
  static let prefixBytes = 4
  /// Contents above this are never compressed, so that a damaged size can ask for no more memory.
  static let maximumBytes = 64 << 20
  /// Contents below this are not worth it.
  static let minimumBytes = 64
}

/// Compresses batches, one after another, with one context.
@safe
final class BatchCompressor {
  // Invariant: nil until first used, then a context of zstd's, freed by `deinit`; one thread at a time.
  private var context: OpaquePointer?

  deinit { unsafe ZSTD_freeCCtx(context) }

  /// Appends size and frame of `content` to `output`; returns false, having appended nothing, if it would not be
  /// smaller.
  func compress(_ content: UnsafeRawBufferPointer, level: Int, into output: inout ByteBuffer) -> Bool {
    guard content.count >= CompressedContent.minimumBytes, content.count <= CompressedContent.maximumBytes else {
      return false
    }
    if unsafe context == nil { unsafe context = ZSTD_createCCtx() }
    let start = output.count
    output.append(UInt32(truncatingIfNeeded: content.count))
    // Less room than the content takes: what does not fit is not smaller.
    let room = unsafe output.appendUninitialized(content.count - CompressedContent.prefixBytes - 1)
    let size = unsafe ZSTD_compressCCtx(
      context, room.baseAddress, room.count, content.baseAddress, content.count, Int32(clamping: level))
    if ZSTD_isError(size) != 0 {
      output.truncate(to: start)
      return false
    }
    output.truncate(to: start + CompressedContent.prefixBytes + size)
    return true
  }
}

/// Decompresses batches, one after another, into one buffer.
@safe
struct BatchDecompressor: ~Copyable {
  // Invariant: as for `BatchCompressor`.
  private var context: OpaquePointer?
  private var buffer = ByteBuffer(capacity: 16)

  deinit { unsafe ZSTD_freeDCtx(context) }

  /// What `bytes`, size and frame, were before; valid until the next call. Nil if that cannot be told.
  mutating func decompress(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard bytes.count > CompressedContent.prefixBytes else { return nil }
    let size = Int(unsafe bytes.little(UInt32.self, at: 0))
    let frame = unsafe bytes.slice(CompressedContent.prefixBytes, bytes.count - CompressedContent.prefixBytes)
    guard size <= CompressedContent.maximumBytes,
      unsafe ZSTD_getFrameContentSize(frame.baseAddress, frame.count) == UInt64(size)
    else { return nil }
    if unsafe context == nil { unsafe context = ZSTD_createDCtx() }
    buffer.removeAll()
    let room = unsafe buffer.appendUninitialized(size)
    let found = unsafe ZSTD_decompressDCtx(context, room.baseAddress, size, frame.baseAddress, frame.count)
    guard ZSTD_isError(found) == 0, found == size else { return nil }
    return UnsafeRawBufferPointer(room)
  }
}

/// A topic's compression as those who append see it, without a lock where there is none; with compressors for those
/// who have none of their own.
final class CompressionSetting: Sendable {
  private let current: Atomic<Int>
  private let idle = Mutex<[Lent]>([])

  // Invariant of `@unchecked Sendable`: in the list, or used by the one who took it out.
  private struct Lent: @unchecked Sendable { let compressor: BatchCompressor }

  init(_ compression: Compression) { current = Atomic(compression.level) }

  var level: Int { current.load(ordering: .relaxed) }

  func set(_ compression: Compression) { current.store(compression.level, ordering: .relaxed) }

  /// Calls `body` with a compressor that nobody else uses meanwhile, and the level. Up to four are kept.
  func use(_ body: (BatchCompressor, Int) -> Void) {
    let lent = idle.withLock { $0.popLast() } ?? Lent(compressor: BatchCompressor())
    body(lent.compressor, level)
    idle.withLock { if $0.count < 4 { $0.append(lent) } }
  }
}
