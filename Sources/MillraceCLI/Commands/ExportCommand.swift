import Millrace

/// `millrace export`: records of a topic as JSON lines or CSV, in order of arrival.
struct ExportCommand {
  let console: Console
  let options: ExportOptions

  func run(_ place: LogPlace, _ name: String) throws -> Int32 {
    defer { place.close() }
    var topic = try place.topic(name)
    let ranges = try RecordRanges(topic: topic.log, command: "export").ranges(
      partitions: options.partitions, from: { _ in options.start }, to: options.end
    ).filter { !$0.value.isEmpty }
    let writer = ExportWriter(options: options, fields: options.isRaw ? nil : topic.untyped?.fieldNames)
    if let header = writer.header { try console.line(header) }
    let total = ranges.values.reduce(0) { $0 + $1.count }
    var progress = console.progress("exporting", total: total)
    defer { progress.finish() }
    let reader = try topic.log.reader(from: ranges.mapValues(\.lowerBound), damage: .skip)
    var noted = 0
    while ranges.contains(where: { (reader.position($0.key) ?? .max) < $0.value.upperBound }) {
      let read = try reader.read { batch in
        let end = ranges[batch.partition]?.upperBound ?? 0
        for record in batch where record.offset < end {
          let value = unsafe options.isRaw ? .raw([UInt8](record.value)) : topic.value(record.value)
          try console.line(writer.line(record, batch.partition, value))
        }
      }
      progress.update(ranges.reduce(0) { $0 + done($1.key, $1.value, reader) })
      for damage in reader.skipped.dropFirst(noted) { console.note("millrace: skipped \(damage)") }
      noted = reader.skipped.count
      if read == 0 { break }
    }
    return noted == 0 ? ExitCode.success : ExitCode.failure
  }

  private func done(_ partition: Int, _ range: Range<Int64>, _ reader: LogReader) -> Int {
    Int(min(reader.position(partition) ?? range.lowerBound, range.upperBound) - range.lowerBound)
  }
}
