extension DecodePlan {
  /// The plan that reads records written with `writer` as values of `layout`, whose own schema is `reader`.
  ///
  /// - Parameter defaults: The declared defaults as a record of `reader`, if the type declares any.
  /// - Throws: ``RecordsError`` with code `.incompatibleSchema`, naming the first field that cannot be read.
  static func make(
    _ layout: RecordLayout, reader: Schema, writer: Schema, defaults: [UInt8]?
  ) throws(RecordsError) -> (DecodePlan, PlanMemory<Step>) {
    guard writer.form == reader.form else {
      throw RecordsError(
        .incompatibleSchema, type: layout.typeName,
        "the data was written as \(writer.form), the type is read as \(reader.form)",
        advice: "read it with the codec that wrote it")
    }
    let wire = WireLayout(writer)
    let own = WireLayout(reader)
    var steps: [Step] = []
    for (index, field) in layout.fields.enumerated() {
      if let source = writer.index(bytewise: field.name) {
        try check(reader.fields[index], reads: writer.fields[source], layout.typeName)
        let step = step(field, index, wire.slots[source], writer.fields[source])
        append(step, checks: field, to: &steps)
      } else if defaults != nil {
        var step = step(field, index, own.slots[index], reader.fields[index])
        step.kind = .general
        step.isDefault = true
        steps.append(step)
      } else if field.isOptional {
        var step = step(field, index, own.slots[index], reader.fields[index])
        step.kind = .absent
        steps.append(step)
      } else {
        throw RecordsError(
          .incompatibleSchema, type: layout.typeName, field: field.name,
          "the data was written without this field, and the type has no default for it",
          advice: "make it optional, or give the type recordDefaults")
      }
    }
    let memory = PlanMemory(steps, layout, defaults: defaults ?? [])
    return (DecodePlan(memory, wire, ofDefaults: own), memory)
  }

  private static func check(
    _ reader: Schema.Field, reads writer: Schema.Field, _ typeName: String
  ) throws(RecordsError) {
    let fits =
      reader.type.isWidening(of: writer.type) && reader.element == writer.element
      && (reader.isOptional || !writer.isOptional)
    guard fits else {
      let lostNull = writer.isOptional && !reader.isOptional
      throw RecordsError(
        .incompatibleSchema, type: typeName, field: reader.name,
        "written as \(writer.typeDescription), which cannot be read as \(reader.typeDescription)",
        advice: lostNull
          ? "keep the field optional: old data may hold nil"
          : "give the new form a name of its own; a field may only be widened or become optional")
    }
  }

  private static func step(
    _ field: RecordLayout.Field, _ index: Int, _ slot: WireLayout.Slot, _ source: Schema.Field
  ) -> Step {
    var step = unsafe Step(
      kind: .general, nullMask: slot.nullBit < 0 ? 0 : 1 << UInt8(slot.nullBit % 8),
      nullByte: Int32(max(slot.nullBit, 0) / 8), wire: Int32(slot.offset), previousEnd: Int32(slot.previousEnd),
      memory: Int32(field.offset), size: Int32(field.type.fixedWidth ?? 0), field: Int32(index), source: source.type,
      converter: field.converter.map { unsafe .passUnretained($0) },
      isDefault: false)
    guard source.type == field.type else { return step }
    guard field.converter == nil else {
      // Strings and lists that cannot be nil go to the converter at once.
      if field.type.fixedWidth == nil, !source.isOptional { step.kind = .convertedString }
      return step
    }
    if field.isPlain {
      step.kind = .copy
    } else if field.type == .string, field.isOptional == source.isOptional {
      step.kind = field.isOptional ? .optionalString : .string
    } else if field.isOptional, source.isOptional, field.type.fixedWidth != nil, field.type != .bool {
      step.kind = .optionalFixed
    }
    return step
  }

  private static func append(_ step: Step, checks field: RecordLayout.Field, to steps: inout [Step]) {
    if step.kind == .copy, field.type == .bool {
      var check = step
      check.kind = .checkBool
      // Checks come first, so that they do not part the runs.
      steps.insert(check, at: 0)
    }
    if step.kind == .copy, let last = steps.last, last.kind == .copy, last.memory + last.size == step.memory,
      last.wire + last.size == step.wire
    {
      steps[steps.count - 1].size += step.size
      return
    }
    steps.append(step)
  }
}

extension Schema {
  /// The index of the field whose name has the UTF-8 bytes of `name`.
  func index(bytewise name: String) -> Int? { fields.firstIndex { $0.name.utf8.elementsEqual(name.utf8) } }
}
