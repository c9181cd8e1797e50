import CISAL

/// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected; RFC 3720 appendix B.4): the checksum of everything written.
public enum CRC32C {
  /// The checksum of `bytes`; pass an earlier result as `seed` to go on from it. `checksum("123456789") == 0xE3069283`.
  public static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt32 = 0) -> UInt32 {
    var crc = ~seed
    var rest = unsafe bytes
    while rest.count > 0, let base = rest.baseAddress {
      // The library's length is a C int.
      let count = min(rest.count, 1 << 30)
      let start = unsafe UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
      crc = unsafe crc32_iscsi(start, Int32(count), crc)
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return ~crc
  }
}
