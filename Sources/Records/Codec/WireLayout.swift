/// Where the parts of a record written with one schema lie in its bytes.
///
///     null bits | fixed slots in field order, unaligned | variable parts in field order
///
/// The slot of a string, byte array or list is a `UInt32`: the end of its part, counted from the end of the fixed
/// part; it begins where the variable field before it ends. So any field is found without reading the others. A scalar
/// that is one non-optional string, byte array or list has no slot: its bytes are the value.
struct WireLayout {
  struct Slot {
    /// Bytes from the start of the record; -1 for a bare value, which has no slot.
    let offset: Int
    /// The bit in the null bits, counted from the lowest of the first byte; -1 if the field is not optional.
    let nullBit: Int
    /// The slot of the variable field before this one, -1 if it is the first or the field is fixed.
    let previousEnd: Int
  }

  let slots: [Slot]
  let nullBytes: Int
  /// Bytes of the null bits and the fixed slots.
  let fixedSize: Int
  /// The slot of the last variable field; -1 if there is none or its value is bare.
  let lastEnd: Int
  let isBare: Bool

  init(_ schema: Schema) {
    let optionals = schema.fields.count { $0.isOptional }
    nullBytes = (optionals + 7) / 8
    isBare =
      schema.form == .scalar && schema.fields.allSatisfy { $0.type.fixedWidth == nil && !$0.isOptional }
    var slots: [Slot] = []
    var offset = nullBytes
    var nullBit = 0
    var previousEnd = -1
    for field in schema.fields {
      let bit = field.isOptional ? nullBit : -1
      if field.isOptional { nullBit += 1 }
      if isBare {
        slots.append(Slot(offset: -1, nullBit: bit, previousEnd: -1))
      } else if let width = field.type.fixedWidth {
        slots.append(Slot(offset: offset, nullBit: bit, previousEnd: -1))
        offset += width
      } else {
        slots.append(Slot(offset: offset, nullBit: bit, previousEnd: previousEnd))
        previousEnd = offset
        offset += 4
      }
    }
    self.slots = slots
    fixedSize = offset
    lastEnd = previousEnd
  }
}
