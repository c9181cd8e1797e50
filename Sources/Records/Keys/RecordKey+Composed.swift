public import Bytes

/// Bytes as a key or a part of one: an array of nothing else.
extension Array: RecordKey where Element == UInt8 {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { key.append(self) }

  public func appendKeyPart(to key: inout ByteBuffer) {
    unsafe withUnsafeBytes { unsafe KeyEncoding.appendPart($0, to: &key) }
  }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> [UInt8] {
    if isLast { return unsafe [UInt8](key.rest()) }
    var buffer = ByteBuffer()
    try key.nextPart(into: &buffer)
    return buffer.array
  }
}

extension Optional: RecordKey where Wrapped: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) {
    guard let self else { return KeyEncoding.appendNull(to: &key) }
    KeyEncoding.appendPresent(to: &key)
    self.appendKey(to: &key)
  }

  @inlinable
  public func appendKeyPart(to key: inout ByteBuffer) {
    guard let self else { return KeyEncoding.appendNull(to: &key) }
    KeyEncoding.appendPresent(to: &key)
    self.appendKeyPart(to: &key)
  }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Wrapped? {
    try key.nextIsPresent() ? try Wrapped.readKey(&key, isLast: isLast) : nil
  }
}

extension RecordKey where Self: RawRepresentable, RawValue: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { rawValue.appendKey(to: &key) }

  @inlinable
  public func appendKeyPart(to key: inout ByteBuffer) { rawValue.appendKeyPart(to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Self {
    let start = key
    let raw = try RawValue.readKey(&key, isLast: isLast)
    guard let value = Self(rawValue: raw) else { throw start.malformed("\(raw) is no value of \(Self.self)") }
    return value
  }
}

extension KeyEncoding {
  /// Appends the key of several parts: all but the last show their end.
  @inlinable
  public static func append<First: RecordKey, Last: RecordKey>(
    _ first: First, _ last: Last, to key: inout ByteBuffer
  ) {
    first.appendKeyPart(to: &key)
    last.appendKey(to: &key)
  }

  /// Appends the key of several parts: all but the last show their end.
  @inlinable
  public static func append<First: RecordKey, Second: RecordKey, Last: RecordKey>(
    _ first: First, _ second: Second, _ last: Last, to key: inout ByteBuffer
  ) {
    first.appendKeyPart(to: &key)
    second.appendKeyPart(to: &key)
    last.appendKey(to: &key)
  }
}
