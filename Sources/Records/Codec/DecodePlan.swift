internal import Bytes

/// The steps that read values of one layout from records written with one schema. Not generic.
@usableFromInline
@safe
final class DecodePlan: Sendable {
  enum Kind: UInt8 {
    case copy, checkBool, optionalFixed, string, optionalString, general, absent
  }

  struct Step {
    var kind: Kind
    /// The field's null bit in the writer's record; 0 if the writer's field is not optional.
    var nullMask: UInt8
    var nullByte: Int32
    /// -1 for a bare value.
    var wire: Int32
    var previousEnd: Int32
    var memory: Int32
    var size: Int32
    /// The reader's field.
    var field: Int32
    /// The type in the writer's record.
    var source: FieldType
    /// Whether the value is taken from the declared defaults.
    var isDefault: Bool
  }

  // Invariant: `steps` points to `count` initialised steps, which never change until deinit frees them.
  private nonisolated(unsafe) let steps: UnsafeMutablePointer<Step>
  private let count: Int
  let layout: RecordLayout
  private let wire: WireLayout
  /// The declared defaults as a record of the reader's own schema; empty if no field needs them.
  private let defaults: [UInt8]
  private let defaultsWire: WireLayout

  init(_ layout: RecordLayout, steps made: [Step], wire: WireLayout, defaults: [UInt8], defaultsWire: WireLayout) {
    self.layout = layout
    self.wire = wire
    self.defaults = defaults
    self.defaultsWire = defaultsWire
    count = made.count
    unsafe steps = .allocate(capacity: max(made.count, 1))
    for (index, step) in made.enumerated() { unsafe (steps + index).initialize(to: step) }
  }

  deinit { unsafe steps.deallocate() }

  /// Whether the whole of a record is copied into memory by one step.
  var isOneCopy: Bool {
    unsafe count == 0 || (count == 1 && steps[0].kind == .copy)
  }

  /// Initialises the memory at `target` with the value that `bytes` hold. When it throws, nothing is initialised.
  @usableFromInline
  func decode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) throws(RecordsError) {
    // Empty bytes may come without an address: then any will do, as none of them is read.
    let record = unsafe bytes.baseAddress ?? UnsafeRawPointer(steps)
    let variable = bytes.count - wire.fixedSize
    guard variable >= 0 else { throw cutShort(bytes.count) }
    if wire.lastEnd >= 0 {
      guard unsafe slot(record, Int32(wire.lastEnd)) == variable else { throw unsafe wrongEnd(bytes) }
    } else if !wire.isBare {
      guard variable == 0 else { throw unsafe wrongEnd(bytes) }
    }
    for index in 0..<count {
      let step = unsafe steps[index]
      let memory = unsafe target + Int(step.memory)
      switch step.kind {
      case .copy:
        unsafe copyRun(from: record + Int(step.wire), to: memory, count: Int(step.size))
        continue
      case .checkBool:
        if unsafe record.load(fromByteOffset: Int(step.wire), as: UInt8.self) <= 1 { continue }
      case .optionalFixed:
        let size = Int(step.size)
        let isNull = unsafe isNull(record, step)
        unsafe copyRun(from: record + Int(step.wire), to: memory, count: size)
        unsafe memory.storeBytes(of: isNull ? 1 : 0, toByteOffset: size, as: UInt8.self)
        continue
      case .string:
        if let text = unsafe part(record, variable, step).flatMap({ unsafe makeString($0) }) {
          unsafe memory.initializeMemory(as: String.self, to: text)
          continue
        }
      case .optionalString:
        if unsafe isNull(record, step) {
          unsafe memory.initializeMemory(as: String?.self, to: nil)
          continue
        }
        if let text = unsafe part(record, variable, step).flatMap({ unsafe makeString($0) }) {
          unsafe memory.initializeMemory(as: String?.self, to: text)
          continue
        }
      case .absent:
        if unsafe layout.fields[Int(step.field)].initializeNull(in: target) { continue }
      case .general:
        if step.isDefault {
          if unsafe fromDefaults(step, target) { continue }
        } else if unsafe general(record, variable, step, target) {
          continue
        }
      }
      unsafe destroy(before: index, target)
      throw unsafe failure(record, variable, step)
    }
  }

  @inline(__always)
  private func slot(_ record: UnsafeRawPointer, _ offset: Int32) -> Int {
    unsafe Int(UInt32(littleEndian: record.loadUnaligned(fromByteOffset: Int(offset), as: UInt32.self)))
  }

  @inline(__always)
  private func isNull(_ record: UnsafeRawPointer, _ step: Step) -> Bool {
    unsafe record.load(fromByteOffset: Int(step.nullByte), as: UInt8.self) & step.nullMask != 0
  }

  /// A variable field's bytes; `nil` if its ends lie outside the record.
  @inline(__always)
  private func part(_ record: UnsafeRawPointer, _ variable: Int, _ step: Step) -> UnsafeRawBufferPointer? {
    guard step.wire >= 0 else { return unsafe UnsafeRawBufferPointer(start: record, count: variable) }
    let begin = step.previousEnd < 0 ? 0 : unsafe slot(record, step.previousEnd)
    let end = unsafe slot(record, step.wire)
    guard begin <= end, end <= variable else { return nil }
    return unsafe UnsafeRawBufferPointer(start: record + wire.fixedSize + begin, count: end - begin)
  }

  private func general(
    _ record: UnsafeRawPointer, _ variable: Int, _ step: Step, _ target: UnsafeMutableRawPointer
  ) -> Bool {
    let field = layout.fields[Int(step.field)]
    if unsafe step.nullMask != 0 && isNull(record, step) { return unsafe field.initializeNull(in: target) }
    guard let width = step.source.fixedWidth else {
      guard let bytes = unsafe part(record, variable, step) else { return false }
      return unsafe field.initialize(bytes: bytes, in: target)
    }
    let start = unsafe record + Int(step.wire)
    if width > 8 {
      return unsafe field.initialize(bytes: UnsafeRawBufferPointer(start: start, count: width), in: target)
    }
    var bits: UInt64 = 0
    unsafe withUnsafeMutableBytes(of: &bits) {
      unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: start, count: width))
    }
    return unsafe field.initialize(bits: field.type.widen(UInt64(littleEndian: bits), from: step.source), in: target)
  }

  private func fromDefaults(_ step: Step, _ target: UnsafeMutableRawPointer) -> Bool {
    let variable = defaults.count - defaultsWire.fixedSize
    return unsafe defaults.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return false }
      let field = layout.fields[Int(step.field)]
      if unsafe step.nullMask != 0 && isNull(base, step) { return unsafe field.initializeNull(in: target) }
      if field.type.fixedWidth != nil { return unsafe general(base, variable, step, target) }
      let begin = step.previousEnd < 0 ? 0 : unsafe slot(base, step.previousEnd)
      let end = unsafe slot(base, step.wire)
      guard begin <= end, end <= variable else { return false }
      return unsafe field.initialize(bytes: bytes.slice(defaultsWire.fixedSize + begin, end - begin), in: target)
    }
  }

  /// Ends the life of what the steps before `index` have initialised.
  private func destroy(before index: Int, _ target: UnsafeMutableRawPointer) {
    for earlier in 0..<index where unsafe steps[earlier].kind != .copy && steps[earlier].kind != .checkBool {
      unsafe layout.fields[Int(steps[earlier].field)].deinitialize(in: target)
    }
  }

  private func cutShort(_ count: Int) -> RecordsError {
    RecordsError(
      .malformed, type: layout.typeName, offset: count,
      "\(count) bytes; the fixed part alone has \(wire.fixedSize)", advice: "the data is cut short or damaged")
  }

  private func wrongEnd(_ bytes: UnsafeRawBufferPointer) -> RecordsError {
    let variable = wire.lastEnd < 0 ? 0 : unsafe bytes.little(UInt32.self, at: wire.lastEnd)
    return RecordsError(
      .malformed, type: layout.typeName, offset: wire.lastEnd < 0 ? wire.fixedSize : wire.lastEnd,
      "\(bytes.count) bytes; by its own account the record has \(wire.fixedSize + Int(variable))",
      advice: "the data is cut short or damaged")
  }

  private func failure(_ record: UnsafeRawPointer, _ variable: Int, _ step: Step) -> RecordsError {
    let field = layout.fields[Int(step.field)]
    let offset: Int
    let reason: String
    if step.wire >= 0, step.source.fixedWidth == nil, unsafe part(record, variable, step) == nil {
      offset = Int(step.wire)
      reason = "the field's end lies outside the record"
    } else if step.source.fixedWidth == nil {
      let begin = step.previousEnd < 0 ? 0 : unsafe slot(record, step.previousEnd)
      offset = wire.fixedSize + begin
      reason = step.source == .string ? "not UTF-8, or no value of the property's type" : "no value of the field's type"
    } else {
      offset = Int(step.wire)
      reason = "no value of the field's type"
    }
    return RecordsError(
      .malformed, type: layout.typeName, field: field.name, offset: offset, reason,
      advice: "the data is damaged, or was written by a program that knows more values")
  }
}

/// A string of UTF-8 bytes; `nil` if they are not.
@inline(__always)
func makeString(_ bytes: UnsafeRawBufferPointer) -> String? {
  unsafe String(validating: bytes, as: UTF8.self)
}
