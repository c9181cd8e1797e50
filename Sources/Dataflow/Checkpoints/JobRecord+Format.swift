import Bytes

/// The bytes of a job's record in the catalogue; docs/FORMAT.md draws them. All integers little-endian.
extension JobRecord {
  static let formatVersion: UInt8 = 1

  func encode(into buffer: inout ByteBuffer) {
    buffer.removeAll()
    buffer.append(UInt32(0))
    buffer.append(Self.formatVersion)
    buffer.append(status.rawValue)
    buffer.append(UInt16(0))
    buffer.append(id)
    buffer.append(incarnation)
    buffer.append(epoch)
    buffer.append(checkpoint)
    buffer.append(time.microseconds)
    buffer.append(UInt32(truncatingIfNeeded: parallelism))
    buffer.append(UInt32(truncatingIfNeeded: states.count))
    for state in states {
      buffer.append(counted: state.declaration.name)
      buffer.append(counted: state.declaration.kind.rawValue)
      buffer.append(state.table)
    }
    buffer.append(UInt32(truncatingIfNeeded: sources.count))
    for (source, partitions) in sources.sorted(by: { $0.key < $1.key }) {
      buffer.append(counted: source)
      buffer.append(UInt32(truncatingIfNeeded: partitions.count))
      for partition in partitions {
        buffer.append(partition.position)
        buffer.append(partition.watermark.microseconds)
        buffer.append(UInt8(partition.isIdle ? 1 : 0))
      }
    }
    buffer.append(UInt32(truncatingIfNeeded: watermarks.count))
    for (name, watermark) in watermarks.sorted(by: { $0.key < $1.key }) {
      buffer.append(counted: name)
      buffer.append(watermark.microseconds)
    }
    buffer.sealChecksum()
  }

  init(name: String, decoding bytes: UnsafeRawBufferPointer) throws(DataflowError) {
    var reader = try unsafe CatalogueReader(bytes, subject: "job \(name)", version: Self.formatVersion)
    self.name = name
    guard let status = Status(rawValue: try reader.integer()) else { throw reader.damage("unknown status") }
    self.status = status
    _ = try reader.integer(UInt16.self)
    id = try reader.integer()
    incarnation = try reader.integer()
    epoch = try reader.integer()
    checkpoint = try reader.integer()
    time = Timestamp(microseconds: try reader.integer())
    parallelism = Int(try reader.integer(UInt32.self))
    states = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      let declaration = StateDeclaration(try reader.string(), StateDeclaration.Kind(rawValue: try reader.string()))
      states.append(State(declaration: declaration, table: try reader.integer()))
    }
    sources = [:]
    for _ in 0..<(try reader.integer(UInt32.self)) {
      let source = try reader.string()
      var partitions: [Partition] = []
      for _ in 0..<(try reader.integer(UInt32.self)) {
        partitions.append(
          Partition(
            position: try reader.integer(), watermark: Timestamp(microseconds: try reader.integer()),
            isIdle: try reader.integer(UInt8.self) != 0))
      }
      sources[source] = partitions
    }
    watermarks = [:]
    for _ in 0..<(try reader.integer(UInt32.self)) {
      let name = try reader.string()
      watermarks[name] = Timestamp(microseconds: try reader.integer())
    }
  }
}
