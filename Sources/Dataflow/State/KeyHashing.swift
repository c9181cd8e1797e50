public import Bytes

extension KeyHash {
  /// The hash of the eight bytes that lie in memory as `word`, without a call: XXH64 (Yann Collet's specification) of
  /// an input of eight bytes and seed 0. Equal to `KeyHash(bytes)`.
  @inlinable
  public init(eightBytes word: UInt64) {
    let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    let prime5: UInt64 = 0x27D4_EB2F_1656_67C5
    var lane = word &* prime2
    lane = (lane &<< 31 | lane &>> 33) &* prime1
    var hash = (prime5 &+ 8) ^ lane
    hash = (hash &<< 27 | hash &>> 37) &* prime1 &+ prime4
    hash = (hash ^ hash &>> 33) &* prime2
    hash = (hash ^ hash &>> 29) &* prime3
    self.init(value: hash ^ hash &>> 32)
  }

  /// The hash of the key with a namespace behind it: the key's own group (its highest bits), the rest mixed with the
  /// namespace. Used in memory only; what is stored is the group.
  @inlinable
  public func withNamespace(_ namespace: UInt64) -> KeyHash {
    let group: UInt64 = 0xFE00_0000_0000_0000
    var mixed = value ^ namespace &* 0x9E37_79B1_85EB_CA87
    mixed = (mixed ^ mixed &>> 32) &* 0xC2B2_AE3D_27D4_EB4F
    return KeyHash(value: value & group | (mixed ^ mixed &>> 29) & ~group)
  }
}
