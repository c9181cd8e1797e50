import Millrace

extension OutputValue {
  /// A column's value. Times as ISO 8601.
  init(_ value: ColumnValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .boolean(value)
    case .integer(let value): self = .integer(value)
    case .unsigned(let value): self = .unsigned(value)
    case .real(let value): self = .decimal(value)
    case .string(let value): self = .text(value)
    case .bytes(let value): self = .bytes(value)
    case .timestamp(let value): self = .text(TimeText.of(value))
    }
  }

  /// A field's value.
  init(_ value: DynamicValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .boolean(value)
    case .integer(let value): self = .integer(value)
    case .unsigned(let value): self = .unsigned(value)
    case .double(let value): self = .decimal(value)
    case .string(let value): self = .text(value)
    case .bytes(let value): self = .bytes(value)
    case .timestamp(let value): self = .text(TimeText.of(value))
    case .uuid(let value): self = .text("\(value)")
    case .list(let values): self = .list(values.map { OutputValue($0) })
    }
  }

  init(_ tree: UntypedTree) {
    switch tree {
    case .null: self = .null
    case .bool(let value): self = .boolean(value)
    case .integer(let value): self = .integer(value)
    case .unsigned(let value): self = .unsigned(value)
    case .double(let value): self = .decimal(value)
    case .string(let value): self = .text(value)
    case .bytes(let value): self = .bytes(value)
    case .list(let values): self = .list(values.map { OutputValue($0) })
    case .object(let members): self = .object(members.map { (name: $0.name, value: OutputValue($0.value)) })
    }
  }

  init(_ value: UntypedValue) {
    switch value {
    case .record(let schema, let values):
      self = .object(zip(schema.fields, values).map { (name: $0.name, value: OutputValue($1)) })
    case .scalar(let value): self = OutputValue(value)
    case .tree(let tree): self = OutputValue(tree)
    case .raw(let bytes): self = OutputValue(textOrBytes: bytes)
    case .undecodable(let bytes, let reason):
      self = .object([(name: "undecodable", value: .text(reason)), (name: "hex", value: .bytes(bytes))])
    }
  }

  /// Text if `bytes` are UTF-8 without control characters, else an object that holds them in base 16: both can be told
  /// apart.
  init(textOrBytes bytes: [UInt8]) {
    if bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) {
      self = .text(String(decoding: bytes, as: UTF8.self))
    } else if let text = String(validating: bytes, as: UTF8.self), !text.unicodeScalars.contains(where: Self.isControl)
    {
      self = .text(text)
    } else {
      self = .object([(name: "hex", value: .bytes(bytes))])
    }
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t" && scalar != "\r"
  }

  /// A description's properties by their names, whatever struct it is.
  init(describing value: Any) {
    switch value {
    case let value as Timestamp: self = .text(TimeText.of(value))
    case let value as Bool: self = .boolean(value)
    case let value as String: self = .text(value)
    case let value as any FixedWidthInteger:
      self = Int64(exactly: value).map { .integer($0) } ?? .unsigned(UInt64(truncatingIfNeeded: value))
    case let value as Double: self = .decimal(value)
    default:
      let mirror = Mirror(reflecting: value)
      switch mirror.displayStyle {
      case .optional: self = mirror.children.first.map { OutputValue(describing: $0.value) } ?? .null
      case .collection, .set: self = .list(mirror.children.map { OutputValue(describing: $0.value) })
      default:
        self = .object(mirror.children.map { (name: $0.label ?? "", value: OutputValue(describing: $0.value)) })
      }
    }
  }
}
