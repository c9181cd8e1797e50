public import Bytes

/// The steps that write values of one layout. Not generic: the same machine code serves every type.
@usableFromInline
@safe
struct EncodePlan: @unchecked Sendable {
  enum Kind: UInt8 {
    case copy, optionalFixed, string, optionalString, converted, general
  }

  @safe
  struct Step {
    var kind: Kind
    var nullMask: UInt8
    var nullByte: Int32
    var memory: Int32
    /// -1 for a bare value.
    var wire: Int32
    var size: Int32
    var field: Int32
    /// Owned by the layout in `PlanMemory`. Not `unowned(unsafe)`: Swift 6.3.1 lays that out differently in generic
    /// code and here, and reads steps from the wrong place.
    var converter: Unmanaged<FieldConverter>?
  }

  // Invariant: `memory` outlives every call; `steps` and `fields` point into it, and nobody writes there.
  private let steps: UnsafeMutablePointer<Step>
  private let fields: UnsafeMutablePointer<RecordLayout.Field>
  private let count: Int
  private let nullBytes: Int
  private let fixedSize: Int

  /// The plan that writes values of a layout, and the memory to be kept with it.
  static func make(_ layout: RecordLayout, schema: Schema) -> (EncodePlan, PlanMemory<Step>) {
    let wire = WireLayout(schema)
    let made = steps(layout, wire)
    let memory = PlanMemory(made, layout)
    return (EncodePlan(memory, count: made.count, wire), memory)
  }

  private init(_ memory: PlanMemory<Step>, count: Int, _ wire: WireLayout) {
    unsafe steps = memory.steps
    unsafe fields = memory.fields
    self.count = count
    nullBytes = wire.nullBytes
    fixedSize = wire.fixedSize
  }

  private static func steps(_ layout: RecordLayout, _ wire: WireLayout) -> [Step] {
    var steps: [Step] = []
    for (index, field) in layout.fields.enumerated() {
      let slot = wire.slots[index]
      var step = unsafe Step(
        kind: .general, nullMask: slot.nullBit < 0 ? 0 : 1 << UInt8(slot.nullBit % 8),
        nullByte: Int32(slot.nullBit / 8), memory: Int32(field.offset), wire: Int32(slot.offset),
        size: Int32(field.type.fixedWidth ?? 0), field: Int32(index),
        converter: field.converter.map { unsafe .passUnretained($0) })
      if field.isPlain {
        step.kind = .copy
        // Neighbours in memory are neighbours in the record: one copy for the run of them.
        if let last = steps.last, last.kind == .copy, last.memory + last.size == step.memory,
          last.wire + last.size == step.wire
        {
          steps[steps.count - 1].size += step.size
          continue
        }
      } else if field.converter == nil {
        switch field.type {
        case .string: step.kind = field.isOptional ? .optionalString : .string
        case .bytes, .list, .bool: break
        default: step.kind = .optionalFixed
        }
      } else {
        step.kind = .converted
      }
      steps.append(step)
    }
    return steps
  }

  /// Appends the value at `base` to `buffer`.
  @usableFromInline
  func encode(_ base: UnsafeRawPointer, into buffer: inout ByteBuffer) throws(RecordsError) {
    let start = buffer.count
    var record = unsafe buffer.appendUninitialized(fixedSize).baseAddress.unsafelyUnwrapped
    if nullBytes > 0 { unsafe record.initializeMemory(as: UInt8.self, repeating: 0, count: nullBytes) }
    for index in 0..<count {
      let step = unsafe steps[index]
      let memory = unsafe base + Int(step.memory)
      switch step.kind {
      case .copy:
        unsafe copyRun(from: memory, to: record + Int(step.wire), count: Int(step.size))
      case .optionalFixed:
        let size = Int(step.size)
        if unsafe memory.load(fromByteOffset: size, as: UInt8.self) == 0 {
          unsafe copyRun(from: memory, to: record + Int(step.wire), count: size)
        } else {
          unsafe (record + Int(step.wire)).initializeMemory(as: UInt8.self, repeating: 0, count: size)
          unsafe setNull(record, step)
        }
      case .string:
        unsafe buffer.append(borrowing: memory.assumingMemoryBound(to: String.self).pointee)
        unsafe record = end(step, start, &buffer)
      case .optionalString:
        if unsafe memory.assumingMemoryBound(to: String?.self).pointee == nil {
          unsafe setNull(record, step)
        } else {
          // The payload of an optional lies at its start.
          unsafe buffer.append(borrowing: memory.assumingMemoryBound(to: String.self).pointee)
        }
        unsafe record = end(step, start, &buffer)
      case .converted:
        if unsafe !converted(step, memory, record, &buffer) {
          // Appending may have moved the record, but then there was something to append.
          if step.size > 0 {
            unsafe (record + Int(step.wire)).initializeMemory(as: UInt8.self, repeating: 0, count: Int(step.size))
          }
          unsafe setNull(record, step)
        }
        unsafe record = end(step, start, &buffer)
      case .general:
        unsafe general(step, base, start, &buffer)
        unsafe record = end(step, start, &buffer)
      }
    }
    if buffer.count - start - fixedSize > Int(UInt32.max) { throw tooLarge(start, &buffer) }
  }

  @inline(__always)
  private func setNull(_ record: UnsafeMutableRawPointer, _ step: Step) {
    let byte = Int(step.nullByte)
    unsafe record.storeBytes(
      of: record.load(fromByteOffset: byte, as: UInt8.self) | step.nullMask, toByteOffset: byte, as: UInt8.self)
  }

  /// Notes the end of a variable part in its slot, and answers where the record now lies: appending may have moved it.
  @inline(__always)
  private func end(_ step: Step, _ start: Int, _ buffer: inout ByteBuffer) -> UnsafeMutableRawPointer {
    let end = UInt32(truncatingIfNeeded: buffer.count - start - fixedSize)
    let record = unsafe buffer.mutableBytes.baseAddress.unsafelyUnwrapped + start
    if step.wire >= 0, step.size == 0 {
      unsafe record.storeBytes(of: end.littleEndian, toByteOffset: Int(step.wire), as: UInt32.self)
    }
    return unsafe record
  }

  /// A field with a converter; false if it is nil.
  @inline(__always)
  private func converted(
    _ step: Step, _ memory: UnsafeRawPointer, _ record: UnsafeMutableRawPointer, _ buffer: inout ByteBuffer
  ) -> Bool {
    guard let converter = unsafe step.converter else { return false }
    if step.size == 0 {
      return unsafe converter._withUnsafeGuaranteedRef { unsafe $0.append(memory, to: &buffer) }
    }
    guard let bits = unsafe converter._withUnsafeGuaranteedRef({ unsafe $0.bits(memory) }) else { return false }
    let wire = unsafe record + Int(step.wire)
    switch step.size {
    case 1: unsafe wire.storeBytes(of: UInt8(truncatingIfNeeded: bits), as: UInt8.self)
    case 2: unsafe wire.storeBytes(of: UInt16(truncatingIfNeeded: bits), as: UInt16.self)
    case 4: unsafe wire.storeBytes(of: UInt32(truncatingIfNeeded: bits), as: UInt32.self)
    default: unsafe wire.storeBytes(of: bits, as: UInt64.self)
    }
    return true
  }

  /// A field whose memory and stored form differ, without a converter.
  private func general(_ step: Step, _ base: UnsafeRawPointer, _ start: Int, _ buffer: inout ByteBuffer) {
    let field = unsafe fields + Int(step.field)
    if step.size == 0 {
      if unsafe field.pointee.append(in: base, to: &buffer) { return }
    } else if let bits = unsafe field.pointee.bits(in: base) {
      let record = unsafe buffer.mutableBytes.baseAddress.unsafelyUnwrapped + start + Int(step.wire)
      unsafe withUnsafeBytes(of: bits.littleEndian) { bytes in
        unsafe record.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: Int(step.size))
      }
      return
    }
    let record = unsafe buffer.mutableBytes.baseAddress.unsafelyUnwrapped + start
    if step.size > 0 {
      unsafe (record + Int(step.wire)).initializeMemory(as: UInt8.self, repeating: 0, count: Int(step.size))
    }
    unsafe setNull(record, step)
  }

  private func tooLarge(_ start: Int, _ buffer: inout ByteBuffer) -> RecordsError {
    let size = buffer.count - start
    buffer.truncate(to: start)
    return RecordsError(
      .tooLarge, "a value of \(size) bytes; at most \(UInt32.max) are possible",
      advice: "store large contents elsewhere and keep a reference")
  }
}

/// Copies a few bytes: sizes of one field without a call.
@inline(__always)
func copyRun(from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, count: Int) {
  switch count {
  case 8: unsafe target.storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
  case 4: unsafe target.storeBytes(of: source.loadUnaligned(as: UInt32.self), as: UInt32.self)
  case 1: unsafe target.storeBytes(of: source.load(as: UInt8.self), as: UInt8.self)
  case 2: unsafe target.storeBytes(of: source.loadUnaligned(as: UInt16.self), as: UInt16.self)
  default: unsafe target.copyMemory(from: source, byteCount: count)
  }
}
