import Records

extension UntypedTopic {
  /// With which schemas values were written, oldest first, as `record(product: String, bid: Double)`; empty for raw
  /// bytes.
  public var schemaDescriptions: [String] { schemas.map(\.description) }

  /// The names of the fields of the newest schema; nil unless that is a struct's.
  public var fieldNames: [String]? {
    guard let newest = schemas.last, newest.form == .record else { return nil }
    return newest.fields.map(\.name)
  }

  /// What goes in front of a value that is written without its Swift type: nothing where values are bytes, the number
  /// of the newest schema where that is JSON (for a value that is JSON) or bytes.
  ///
  /// - Throws: `StoreError.schemaMismatch` where only a program that has the type can write.
  public func valuePrefix(isJSON: Bool) throws -> [UInt8] {
    guard let newest = schemas.last else { return [] }
    switch newest.form {
    case .raw: return [UInt8(truncatingIfNeeded: schemas.count - 1)]
    case .json where isJSON: return [UInt8(truncatingIfNeeded: schemas.count - 1)]
    case .json:
      throw StoreError(
        .schemaMismatch, path: "topic \(log.name)", detail: "its values are JSON; append lines of JSON ('--input json')"
      )
    default:
      throw StoreError(
        .schemaMismatch, path: "topic \(log.name)",
        detail: "its values are \(newest.description), which a program that has this type writes; "
          + "append there, or to a topic without a type")
    }
  }
}
