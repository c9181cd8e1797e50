/// Checks one topic.
struct TopicCheck {
  typealias Violation = LogChecker.Violation
  typealias Identity = LogWorkload.Identity
  typealias Operation = LogHistory.Operation

  let workload: LogWorkload
  let topic: LogWorkload.Topic
  let operations: [Operation]
  let partitions: [LogContents.Partition]
  let afterPowerLoss: Bool
  /// Where each record was found first.
  private let places: [Identity: LogHistory.Position]
  /// Which operation wrote it, as far as that is known.
  private let writers: [Identity: Int]
  /// Per partition and key, the largest offset at which the key is known to have come.
  private let latest: [[[UInt8]: Int64]]

  init(
    workload: LogWorkload, topic: LogWorkload.Topic, operations: [Operation], partitions: [LogContents.Partition],
    afterPowerLoss: Bool
  ) {
    self.workload = workload
    self.topic = topic
    self.operations = operations
    self.partitions = partitions
    self.afterPowerLoss = afterPowerLoss
    var places: [Identity: LogHistory.Position] = [:]
    for (number, partition) in partitions.enumerated() {
      for record in partition.records {
        guard let identity = record.identity, places[identity] == nil else { continue }
        places[identity] = LogHistory.Position(number, record.offset)
      }
    }
    self.places = places
    var writers: [Identity: Int] = [:]
    for (index, operation) in operations.enumerated() {
      // Of several attempts the one that was acknowledged.
      for identity in operation.identities where writers[identity] == nil || operation.acknowledged != nil {
        writers[identity] = index
      }
    }
    self.writers = writers
    latest = topic.isCompacted ? Self.latest(workload, topic, operations, places, partitions.count) : []
  }

  private static func latest(
    _ workload: LogWorkload, _ topic: LogWorkload.Topic, _ operations: [Operation],
    _ places: [Identity: LogHistory.Position], _ partitions: Int
  ) -> [[[UInt8]: Int64]] {
    var latest = Array(repeating: [[UInt8]: Int64](), count: partitions)
    func note(_ identity: Identity, _ position: LogHistory.Position) {
      guard let key = workload.record(identity, in: topic).key, latest.indices.contains(position.partition) else {
        return
      }
      latest[position.partition][key] = max(latest[position.partition][key] ?? -1, position.offset)
    }
    for (identity, position) in places { note(identity, position) }
    for operation in operations {
      for (identity, position) in zip(operation.identities, operation.positions) { note(identity, position) }
    }
    return latest
  }

  func violations() -> [Violation] {
    var found: [Violation] = []
    for (number, partition) in partitions.enumerated() {
      found += shape(number, partition)
      found += order(number, partition)
    }
    let lost = lostTails()
    for operation in operations { found += fate(of: operation, lost) }
    return found
  }

  private func violation(_ kind: Violation.Kind, _ text: String) -> Violation {
    Violation(kind: kind, topic: topic.name, text: text)
  }

  // MARK: One partition by itself

  private func shape(_ number: Int, _ partition: LogContents.Partition) -> [Violation] {
    var found: [Violation] = []
    var next = partition.start
    if partition.start < 0 || partition.end < partition.start || (partition.start > 0 && !topic.isRetained) {
      found.append(violation(.disorder, "partition \(number) has \(partition.start)..<\(partition.end)"))
    }
    for record in partition.records {
      if record.offset < next || record.offset >= partition.end {
        found.append(violation(.disorder, "partition \(number): offset \(record.offset) where \(next) was due"))
      } else if record.offset > next && !topic.isCompacted {
        found += gap(number, next..<record.offset, partition)
      }
      next = record.offset + 1
      found += identity(of: record, number)
    }
    if next < partition.end && !topic.isCompacted { found += gap(number, next..<partition.end, partition) }
    return found
  }

  private func gap(_ number: Int, _ range: Range<Int64>, _ partition: LogContents.Partition) -> [Violation] {
    for offset in range where !partition.damages.contains(where: { $0.contains(offset) }) {
      return [violation(.gap, "partition \(number) has nothing at \(offset) of \(range)")]
    }
    return []
  }

  private func identity(of record: LogContents.Found, _ number: Int) -> [Violation] {
    let place = "partition \(number), offset \(record.offset)"
    guard let identity = record.identity, let writer = writers[identity] else {
      return [violation(.phantom, "nobody wrote what is at \(place)")]
    }
    var found: [Violation] = []
    if !record.isIntact { found.append(violation(.wrongBytes, "\(identity) at \(place)")) }
    if places[identity] != LogHistory.Position(number, record.offset) {
      found.append(violation(.duplicated, "\(identity) is at \(place), too"))
    }
    if operations[writer].isRefused && operations[writer].acknowledged == nil {
      found.append(violation(.refused, "\(identity) at \(place) had failed"))
    }
    return found
  }

  /// Per producer in its own order; and nobody before what was acknowledged before it began.
  private func order(_ number: Int, _ partition: LogContents.Partition) -> [Violation] {
    var found: [Violation] = []
    var last: [Int: Int] = [:]
    for record in partition.records {
      guard let identity = record.identity else { continue }
      if let before = last[identity.producer], before > identity.number {
        found.append(
          violation(.reordered, "partition \(number), offset \(record.offset): \(identity) behind number \(before)"))
      }
      last[identity.producer] = identity.number
    }
    var earliest = (line: Int.max, identity: Identity(0, 0))
    for record in partition.records.reversed() {
      guard let identity = record.identity, let writer = writers[identity] else { continue }
      let operation = operations[writer]
      // An idempotent append may have been written by an earlier attempt than the one known here.
      if operation.kind != .idempotent && operation.began > earliest.line {
        found.append(
          violation(
            .overtaken, "partition \(number), offset \(record.offset): \(identity) before \(earliest.identity)"))
      }
      if let line = operation.acknowledged, line < earliest.line { earliest = (line, identity) }
    }
    return found
  }

  // MARK: What was acknowledged

  /// Per partition, from where on everything may have been lost with the power.
  private func lostTails() -> [Int64] {
    partitions.map { afterPowerLoss && topic.mayLoseTail ? $0.end : .max }
  }

  private func fate(of operation: Operation, _ lost: [Int64]) -> [Violation] {
    var found: [Violation] = []
    var there = 0
    var excused = 0
    for (index, identity) in operation.identities.enumerated() {
      let told = index < operation.positions.count ? operation.positions[index] : nil
      if let place = places[identity] {
        there += 1
        if let told, told != place {
          found.append(violation(.moved, "\(identity) was acknowledged at \(told) and is at \(place)"))
        }
      } else if mayBeGone(identity, told, lost) {
        excused += 1
      } else if operation.acknowledged != nil {
        let place = told.map { "partition \($0.partition), offset \($0.offset)" } ?? "an unknown place"
        found.append(violation(.missing, "\(identity), acknowledged at \(place)"))
      }
    }
    let isUnit = operation.kind == .group || operation.kind == .idempotent
    let isPart = operation.acknowledged == nil && there > 0 && there + excused < operation.count
    if isUnit && isPart && !isOfShorterAttempt(operation, there) {
      found.append(
        violation(.torn, "\(there) of \(operation.count) from \(Identity(operation.producer, operation.first))"))
    }
    return found
  }

  /// Whether another attempt of fewer records wrote the first `count` records of this one, and nothing else is there.
  private func isOfShorterAttempt(_ operation: Operation, _ count: Int) -> Bool {
    guard operation.kind == .idempotent else { return false }
    return operation.identities.prefix(count).allSatisfy { places[$0] != nil }
      && operations.contains {
        $0.kind == .idempotent && $0.producer == operation.producer && $0.first + $0.count == operation.first + count
      }
  }

  /// Whether the log was allowed to remove the record, or has said that it cannot be read.
  private func mayBeGone(_ identity: Identity, _ told: LogHistory.Position?, _ lost: [Int64]) -> Bool {
    guard let told else { return mayBeAnywhereGone(identity) }
    guard partitions.indices.contains(told.partition) else { return false }
    let partition = partitions[told.partition]
    if topic.isRetained && told.offset < partition.start { return true }
    if told.offset >= lost[told.partition] { return true }
    if partition.damages.contains(where: { $0.contains(told.offset) }) { return true }
    guard topic.isCompacted else { return false }
    let record = workload.record(identity, in: topic)
    guard let key = record.key else { return false }
    if record.value.isEmpty { return true }
    if (latest[told.partition][key] ?? -1) > told.offset { return true }
    // Removed by a tombstone that is gone itself, and whose acknowledgement never came.
    return hasUnknownTombstone(key)
  }

  private func mayBeAnywhereGone(_ identity: Identity) -> Bool {
    if topic.isRetained || (afterPowerLoss && topic.mayLoseTail) { return true }
    if partitions.contains(where: { !$0.damages.isEmpty }) { return true }
    return topic.isCompacted && workload.record(identity, in: topic).key != nil
  }

  private func hasUnknownTombstone(_ key: [UInt8]) -> Bool {
    operations.contains { operation in
      operation.positions.isEmpty && !operation.isRefused
        && operation.identities.contains {
          let record = workload.record($0, in: topic)
          return record.key == key && record.value.isEmpty
        }
    }
  }

  // MARK: What was read

  func violations(of readings: [LogHistory.Reading]) -> [Violation] {
    var found: [Violation] = []
    var last: [String: Int64] = [:]
    for reading in readings {
      let name = "\(reading.reader), partition \(reading.position.partition)"
      if let before = last[name], before >= reading.position.offset {
        found.append(violation(.backwards, "reader \(name) was given \(reading.position.offset) after \(before)"))
      }
      last[name] = reading.position.offset
      guard writers[reading.identity] != nil else {
        found.append(violation(.phantom, "reader \(name) was given \(reading.identity), which nobody wrote"))
        continue
      }
      if let place = places[reading.identity] {
        if place != reading.position {
          found.append(violation(.moved, "\(reading.identity) was read at \(reading.position) and is at \(place)"))
        }
      } else if !mayBeGone(reading.identity, reading.position, lostTails()) {
        found.append(violation(.unread, "\(reading.identity) was read at \(reading.position) and is not there"))
      }
    }
    return found
  }
}
