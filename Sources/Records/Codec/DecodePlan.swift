internal import Bytes

/// The steps that read values of one layout from records written with one schema. Not generic.
@usableFromInline
@safe
struct DecodePlan: @unchecked Sendable {
  enum Kind: UInt8 {
    case copy, checkBool, optionalFixed, string, optionalString, convertedString, general, absent
  }

  @safe
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
    /// Owned by the layout in `PlanMemory`. Not `unowned(unsafe)`: Swift 6.3.1 lays that out differently in generic
    /// code and here, and reads steps from the wrong place.
    var converter: Unmanaged<FieldConverter>?
    /// Whether the value is taken from the declared defaults.
    var isDefault: Bool
  }

  // Invariant: `memory` outlives every call; the pointers lead into it, and nobody writes there.
  private let steps: UnsafeMutablePointer<Step>
  private let fields: UnsafeMutablePointer<RecordLayout.Field>
  private let owner: Unmanaged<PlanMemory<Step>>
  private let count: Int
  private let fixedSize: Int
  private let lastEnd: Int32
  private let isBare: Bool
  private let fixedSizeOfDefaults: Int

  /// - Parameter ofDefaults: How the declared defaults in `memory` lie: as a record of the reader's own schema.
  init(_ memory: PlanMemory<Step>, _ wire: WireLayout, ofDefaults: WireLayout) {
    unsafe steps = memory.steps
    unsafe fields = memory.fields
    unsafe owner = .passUnretained(memory)
    count = memory.count
    fixedSize = wire.fixedSize
    lastEnd = Int32(wire.lastEnd)
    isBare = wire.isBare
    fixedSizeOfDefaults = ofDefaults.fixedSize
  }

  /// Whether the whole of a record is copied into memory by one step.
  var isOneCopy: Bool { unsafe count == 0 || (count == 1 && steps[0].kind == .copy) }

  /// Initialises the memory at `target` with the value that `bytes` hold. When it throws, nothing is initialised.
  @usableFromInline
  func decode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) throws(RecordsError) {
    // Empty bytes may come without an address: then any will do, as none of them is read.
    let record = unsafe bytes.baseAddress ?? UnsafeRawPointer(steps)
    let variable = bytes.count - fixedSize
    guard variable >= 0 else { throw cutShort(bytes.count) }
    if lastEnd >= 0 {
      guard unsafe slot(record, lastEnd) == variable else { throw unsafe wrongEnd(bytes) }
    } else if !isBare {
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
        if let text = unsafe part(record, variable, fixedSize, step).flatMap({ unsafe makeString($0) }) {
          unsafe memory.initializeMemory(as: String.self, to: text)
          continue
        }
      case .optionalString:
        if unsafe isNull(record, step) {
          unsafe memory.initializeMemory(as: String?.self, to: nil)
          continue
        }
        if let text = unsafe part(record, variable, fixedSize, step).flatMap({ unsafe makeString($0) }) {
          unsafe memory.initializeMemory(as: String?.self, to: text)
          continue
        }
      case .convertedString:
        if let bytes = unsafe part(record, variable, fixedSize, step), let converter = unsafe step.converter,
          unsafe converter._withUnsafeGuaranteedRef({ unsafe $0.store(bytes: bytes, memory) })
        {
          continue
        }
      case .absent:
        if unsafe fields[Int(step.field)].initializeNull(in: target) { continue }
      case .general:
        if step.isDefault {
          let memory = unsafe owner.takeUnretainedValue()
          if unsafe general(
            UnsafeRawPointer(memory.defaults), memory.defaultsCount - fixedSizeOfDefaults, fixedSizeOfDefaults, step,
            target)
          {
            continue
          }
        } else if unsafe general(record, variable, fixedSize, step, target) {
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

  /// A variable field's bytes, of the `variable` ones behind the `fixed` ones; `nil` if its ends lie outside them.
  @inline(__always)
  private func part(
    _ record: UnsafeRawPointer, _ variable: Int, _ fixed: Int, _ step: Step
  ) -> UnsafeRawBufferPointer? {
    guard step.wire >= 0 else { return unsafe UnsafeRawBufferPointer(start: record, count: variable) }
    let begin = step.previousEnd < 0 ? 0 : unsafe slot(record, step.previousEnd)
    let end = unsafe slot(record, step.wire)
    guard begin <= end, end <= variable else { return nil }
    return unsafe UnsafeRawBufferPointer(start: record + fixed + begin, count: end - begin)
  }

  /// A field whose memory is not its stored form, or not that of the writer.
  private func general(
    _ record: UnsafeRawPointer, _ variable: Int, _ fixed: Int, _ step: Step, _ target: UnsafeMutableRawPointer
  ) -> Bool {
    let field = unsafe fields + Int(step.field)
    if unsafe step.nullMask != 0 && isNull(record, step) { return unsafe field.pointee.initializeNull(in: target) }
    guard let width = step.source.fixedWidth else {
      guard let bytes = unsafe part(record, variable, fixed, step) else { return false }
      return unsafe field.pointee.initialize(bytes: bytes, in: target)
    }
    let start = unsafe record + Int(step.wire)
    let bits: UInt64
    switch width {
    case 1: bits = unsafe UInt64(start.load(as: UInt8.self))
    case 2: bits = unsafe UInt64(UInt16(littleEndian: start.loadUnaligned(as: UInt16.self)))
    case 4: bits = unsafe UInt64(UInt32(littleEndian: start.loadUnaligned(as: UInt32.self)))
    case 8: bits = unsafe UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
    default:
      return unsafe field.pointee.initialize(bytes: UnsafeRawBufferPointer(start: start, count: width), in: target)
    }
    let wide = unsafe field.pointee.type.widen(bits, from: step.source)
    return unsafe field.pointee.initialize(bits: wide, in: target)
  }

  /// Ends the life of what the steps before `index` have initialised.
  private func destroy(before index: Int, _ target: UnsafeMutableRawPointer) {
    for earlier in 0..<index where unsafe steps[earlier].kind != .copy && steps[earlier].kind != .checkBool {
      unsafe fields[Int(steps[earlier].field)].deinitialize(in: target)
    }
  }

  private func cutShort(_ count: Int) -> RecordsError {
    unsafe RecordsError(
      .malformed, type: owner.takeUnretainedValue().layout.typeName, offset: count,
      "\(count) bytes; the fixed part alone has \(fixedSize)", advice: "the data is cut short or damaged")
  }

  private func wrongEnd(_ bytes: UnsafeRawBufferPointer) -> RecordsError {
    let variable = Int(lastEnd) < 0 ? 0 : unsafe bytes.little(UInt32.self, at: Int(lastEnd))
    return unsafe RecordsError(
      .malformed, type: owner.takeUnretainedValue().layout.typeName,
      offset: Int(lastEnd) < 0 ? fixedSize : Int(lastEnd),
      "\(bytes.count) bytes; by its own account the record has \(fixedSize + Int(variable))",
      advice: "the data is cut short or damaged")
  }

  private func failure(_ record: UnsafeRawPointer, _ variable: Int, _ step: Step) -> RecordsError {
    let field = unsafe fields[Int(step.field)]
    let offset: Int
    let reason: String
    if step.wire >= 0, step.source.fixedWidth == nil, unsafe part(record, variable, fixedSize, step) == nil {
      offset = Int(step.wire)
      reason = "the field's end lies outside the record"
    } else if step.source.fixedWidth == nil {
      let begin = step.previousEnd < 0 ? 0 : unsafe slot(record, step.previousEnd)
      offset = fixedSize + begin
      reason = step.source == .string ? "not UTF-8, or no value of the property's type" : "no value of the field's type"
    } else {
      offset = Int(step.wire)
      reason = "no value of the field's type"
    }
    return unsafe RecordsError(
      .malformed, type: owner.takeUnretainedValue().layout.typeName, field: field.name, offset: offset, reason,
      advice: "the data is damaged, or was written by a program that knows more values")
  }
}
