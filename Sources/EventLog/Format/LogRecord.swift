public import Bytes

/// A record inside the map: valid inside the closure or loop that was given its batch, to be copied if it must last.
@frozen
@safe
public struct LogRecord {
  /// Its place in its partition, from 0 on.
  public let offset: Int64
  public let timestamp: Timestamp
  /// Whether it has a key: an empty key is a key.
  public let hasKey: Bool
  /// The key's bytes, empty if there is none.
  public let key: UnsafeRawBufferPointer
  public let value: UnsafeRawBufferPointer
  /// The encoded headers; `headers` decodes them.
  @usableFromInline let headerBytes: UnsafeRawBufferPointer

  @inlinable
  init(
    offset: Int64, timestamp: Timestamp, hasKey: Bool, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    headerBytes: UnsafeRawBufferPointer
  ) {
    self.offset = offset
    self.timestamp = timestamp
    self.hasKey = hasKey
    unsafe self.key = unsafe key
    unsafe self.value = unsafe value
    unsafe self.headerBytes = unsafe headerBytes
  }

  /// The headers, copied; allocates.
  public var headers: [LogHeader] { unsafe LogHeader.decode(headerBytes) }
}

/// A name and bytes that travel beside a record. Names may repeat; their order is kept.
public struct LogHeader: Hashable, Sendable {
  public var name: String
  public var value: [UInt8]

  public init(_ name: String, _ value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// Each as: length of the name (u32), length of the value (u32), name in UTF-8, value.
  static func encode(_ headers: [LogHeader]) -> [UInt8] {
    if headers.isEmpty { return [] }
    var buffer = ByteBuffer()
    for header in headers {
      buffer.append(UInt32(truncatingIfNeeded: header.name.utf8.count))
      buffer.append(UInt32(truncatingIfNeeded: header.value.count))
      buffer.append(utf8: header.name)
      buffer.append(header.value)
    }
    return buffer.array
  }

  static func decode(_ bytes: UnsafeRawBufferPointer) -> [LogHeader] {
    var headers: [LogHeader] = []
    var position = 0
    while bytes.count - position >= 8 {
      let nameCount = Int(unsafe bytes.little(UInt32.self, at: position))
      let valueCount = Int(unsafe bytes.little(UInt32.self, at: position + 4))
      position += 8
      guard nameCount + valueCount <= bytes.count - position else { break }
      unsafe headers.append(
        LogHeader(
          String(decoding: unsafe bytes.slice(position, nameCount), as: UTF8.self),
          unsafe [UInt8](bytes.slice(position + nameCount, valueCount))))
      position += nameCount + valueCount
    }
    return headers
  }
}

/// A record on its own, copied out of the log.
public struct OwnedRecord: Hashable, Sendable {
  public var partition: Int
  public var offset: Int64
  public var timestamp: Timestamp
  /// Nil for no key; an empty key is a key.
  public var key: [UInt8]?
  public var value: [UInt8]
  public var headers: [LogHeader]

  init(copying record: LogRecord, partition: Int) {
    self.partition = partition
    self.offset = record.offset
    self.timestamp = record.timestamp
    self.key = unsafe record.hasKey ? [UInt8](record.key) : nil
    self.value = unsafe [UInt8](record.value)
    self.headers = record.headers
  }
}

/// A record to be appended.
public struct NewRecord: Hashable, Sendable {
  /// Nil for no key: the record then goes to any partition. An empty key is a key.
  public var key: [UInt8]?
  public var value: [UInt8]
  public var timestamp: Timestamp
  public var headers: [LogHeader]

  public init(key: [UInt8]?, value: [UInt8], timestamp: Timestamp, headers: [LogHeader] = []) {
    self.key = key
    self.value = value
    self.timestamp = timestamp
    self.headers = headers
  }
}

/// Where a record is: its partition and its offset there.
@frozen
public struct LogPosition: Hashable, Sendable {
  public var partition: Int
  public var offset: Int64

  public init(partition: Int, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }
}
