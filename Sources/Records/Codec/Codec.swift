public import Bytes

/// Turns values into bytes and bytes into values.
///
/// A codec is made once, and then used for many values from any number of threads. Equal values of a record give equal
/// bytes.
public struct Codec<Value>: Sendable {
  typealias Encode = @Sendable (borrowing Value, inout ByteBuffer) throws(RecordsError) -> Void
  typealias Decode = @Sendable (UnsafeRawBufferPointer) throws(RecordsError) -> Value

  enum Encoding: Sendable {
    /// A value's memory is its bytes.
    case plain
    case planned(EncodePlan, PlanMemory<EncodePlan.Step>)
    case custom(Encode)
  }

  @safe
  enum Decoding: Sendable {
    /// The bytes are a value's memory, whatever they hold. Only types without reference, `Bool` or enum.
    case plain
    case planned(DecodePlan, PlanMemory<DecodePlan.Step>)
    case custom(Decode)
  }

  /// What the written bytes look like; to be kept beside the data.
  public let schema: Schema
  /// The bytes of every value that this codec writes, if they are the same number for all.
  public let fixedSize: Int?
  let encoding: Encoding
  let decoding: Decoding
  // What a value needs of the two, apart: taking it out of them would count references per value.
  @usableFromInline let isPlainEncoding: Bool
  @usableFromInline let isPlainDecoding: Bool
  @usableFromInline let encodePlan: EncodePlan?
  @usableFromInline let decodePlan: DecodePlan?
  // Makes the decoding of what was written with another schema.
  private let evolve: @Sendable (Schema) throws(RecordsError) -> Decoding

  init(
    schema: Schema, fixedSize: Int?, encoding: Encoding, decoding: Decoding,
    evolve: @escaping @Sendable (Schema) throws(RecordsError) -> Decoding
  ) {
    self.schema = schema
    self.fixedSize = fixedSize
    self.encoding = encoding
    self.decoding = decoding
    if case .plain = encoding { isPlainEncoding = true } else { isPlainEncoding = false }
    if case .plain = decoding { isPlainDecoding = true } else { isPlainDecoding = false }
    if case .planned(let plan, _) = encoding { encodePlan = plan } else { encodePlan = nil }
    if case .planned(let plan, _) = decoding { decodePlan = plan } else { decodePlan = nil }
    self.evolve = evolve
  }

  /// Whether every value takes the same number of bytes.
  public var isFixed: Bool { fixedSize != nil }

  /// A codec that reads what was written with `writer`, and writes as this one does.
  ///
  /// Fields are matched by name. The data may have fields that the type no longer has, in any order; a field may have
  /// been narrower (`Int32` for `Int64`, `Float` for `Double`, not optional for optional); a field that the data lacks
  /// reads as nil, or as ``Record/recordDefaults`` declare.
  ///
  /// - Throws: ``RecordsError`` with code `.incompatibleSchema`, naming the field.
  public func reading(writtenWith writer: Schema) throws(RecordsError) -> Codec {
    if writer == schema { return self }
    return Codec(
      schema: schema, fixedSize: fixedSize, encoding: encoding, decoding: try evolve(writer), evolve: evolve)
  }
}

extension Codec {
  /// Appends the bytes of `value` to `buffer`. When it throws, `buffer` is as before.
  ///
  /// - Throws: ``RecordsError`` with code `.tooLarge` from 4 GiB on; for Codable values `.unencodable`, if the value's
  ///   own `encode(to:)` throws.
  @inlinable
  public func encode(_ value: borrowing Value, into buffer: inout ByteBuffer) throws(RecordsError) {
    if isPlainEncoding {
      unsafe withUnsafeBytes(of: value) { unsafe buffer.append($0) }
    } else if let encodePlan {
      // The plan points into memory that this codec owns.
      defer { withExtendedLifetime(self) {} }
      try unsafe withUnsafePointer(to: value) { pointer throws(RecordsError) in
        try unsafe encodePlan.encode(UnsafeRawPointer(pointer), into: &buffer)
      }
    } else {
      try encodeCustom(value, &buffer)
    }
  }

  /// The value that `bytes` hold.
  ///
  /// - Throws: ``RecordsError`` with code `.malformed`, with field and offset, for bytes that hold none: no bytes
  ///   make it trap.
  @inlinable
  public func decode(_ bytes: UnsafeRawBufferPointer) throws(RecordsError) -> Value {
    return try unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { slot throws(RecordsError) in
      let memory = unsafe slot.baseAddress.unsafelyUnwrapped
      try unsafe initialize(memory, from: bytes)
      return unsafe memory.move()
    }
  }

  /// Initialises `memory` with the value that `bytes` hold. When it throws, nothing is initialised.
  ///
  /// - Throws: As ``decode(_:)``.
  @inlinable
  @unsafe
  public func initialize(
    _ memory: UnsafeMutablePointer<Value>, from bytes: UnsafeRawBufferPointer
  ) throws(RecordsError) {
    if isPlainDecoding {
      guard bytes.count == MemoryLayout<Value>.size else { throw wrongSize(bytes.count) }
      unsafe UnsafeMutableRawBufferPointer(start: memory, count: MemoryLayout<Value>.size).copyMemory(from: bytes)
    } else if let decodePlan {
      defer { withExtendedLifetime(self) {} }
      try unsafe decodePlan.decode(bytes, into: UnsafeMutableRawPointer(memory))
    } else {
      try unsafe decodeCustom(memory, bytes)
    }
  }

  @usableFromInline
  func encodeCustom(_ value: borrowing Value, _ buffer: inout ByteBuffer) throws(RecordsError) {
    if case .custom(let body) = encoding { try body(value, &buffer) }
  }

  @usableFromInline
  func decodeCustom(_ memory: UnsafeMutablePointer<Value>, _ bytes: UnsafeRawBufferPointer) throws(RecordsError) {
    guard case .custom(let body) = decoding else { throw wrongSize(bytes.count) }
    try unsafe memory.initialize(to: body(bytes))
  }

  @usableFromInline
  func wrongSize(_ count: Int) -> RecordsError {
    RecordsError(
      .malformed, type: "\(Value.self)", offset: min(count, MemoryLayout<Value>.size),
      "\(count) bytes; a value has \(MemoryLayout<Value>.size)", advice: "the data is cut short or damaged")
  }
}

extension Codec {
  /// The bytes of `value` as an array: for tests and rare calls.
  public func encoded(_ value: borrowing Value) throws(RecordsError) -> [UInt8] {
    var buffer = ByteBuffer()
    try encode(value, into: &buffer)
    return buffer.array
  }

  /// The value that `bytes` hold.
  @inlinable
  public func decode(_ bytes: [UInt8]) throws(RecordsError) -> Value {
    try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(RecordsError) in try unsafe decode(bytes) }
  }
}
