extension RecordLayout {
  /// The index of the field named `name`.
  public func index(named name: String) -> Int? { fields.firstIndex { $0.name == name } }

  /// The index of the stored property that `keyPath` names. Resolve key paths once, not per record.
  ///
  /// - Throws: ``RecordsError`` with code `.unknownProperty` if it names a computed property, a part of a property, or
  ///   a property of another type than this layout's.
  public func index<T: Record>(of keyPath: PartialKeyPath<T>) throws(RecordsError) -> Int {
    guard ObjectIdentifier(T.self) == root else {
      throw RecordsError(
        .unknownProperty, type: typeName, "the key path \(keyPath) is of type \(T.self), not of \(typeName)",
        advice: "use a key path of \(typeName)")
    }
    if isScalar, keyPath == \T.self { return 0 }
    guard let offset = MemoryLayout<T>.offset(of: keyPath) else {
      throw RecordsError(
        .unknownProperty, type: typeName, "the key path \(keyPath) is a computed property or leads through an optional",
        advice: "name a stored property: \(fields.map(\.name).joined(separator: ", "))")
    }
    let valueType = ObjectIdentifier(Swift.type(of: keyPath).valueType)
    guard let index = fields.firstIndex(where: { $0.offset == offset && $0.swiftType == valueType }) else {
      throw RecordsError(
        .unknownProperty, type: typeName, "the key path \(keyPath) is a part of a stored property",
        advice: "name a whole stored property: \(fields.map(\.name).joined(separator: ", "))")
    }
    return index
  }
}
