import Bytes

extension EventLog {
  /// The consumer groups of this log, by name, whoever holds them.
  public func groups() throws(EventLogError) -> [GroupDescription] {
    try requireOpen()
    var found: [GroupDescription] = []
    for name in GroupFiles.names(in: directory) {
      do throws(EventLogError) {
        found.append(try group(name))
      } catch {
        // Deleted since, or just being made.
        if error.code != .unknownGroup { throw error }
      }
    }
    return found
  }

  /// The consumer group called `name`: its topics with committed offsets and lag.
  ///
  /// - Throws: `unknownGroup`, `storage`, `damaged`.
  public func group(_ name: String) throws(EventLogError) -> GroupDescription {
    try requireOpen()
    try GroupFiles.validate(name)
    let known = try core.catalog.load().topics
    let held = core.groups.held(name)
    let found = try GroupFile.look(name, in: directory) { file throws(EventLogError) in
      var offsets: [String: [Int: CommittedOffset]] = [:]
      for (id, topic) in try file.topicNames() where known[topic]?.id == id {
        offsets[topic] = try file.offsets(of: id)
      }
      return offsets
    }
    var description = GroupDescription(name: name, holder: GroupLock.holder(name, in: directory), topics: [])
    for (name, committed) in found.sorted(by: { $0.key < $1.key }) {
      let topic: LogTopic
      do throws(EventLogError) { topic = try self.topic(name) } catch {
        if error.code == .unknownTopic { continue }
        throw error
      }
      let members = held?.known(topic.id)?.positions().members ?? [:]
      let partitions = try topic.offsets().enumerated().map { partition, range in
        let own = committed[partition]
        return GroupDescription.Partition(
          partition: partition, committed: own?.offset, committedAt: own?.at, startOffset: range.lowerBound,
          endOffset: range.upperBound, finished: own?.finished ?? OffsetRanges(),
          lag: GroupDescription.lag(own, range), member: members[partition])
      }
      description.topics.append(GroupDescription.Topic(name: name, id: topic.id, partitions: partitions))
    }
    return description
  }

  /// Has the group go on at `position` in every partition of `topic`; begins the group if it is not there. Durable
  /// when it returns.
  ///
  /// - Throws: `groupInUse` while any process, this one included, has members of the group; `offsetOutOfRange` for an
  ///   offset that some partition does not have: nothing is changed then; `unknownTopic`, `storage`.
  public func resetGroup(_ name: String, topic: String, to position: StartPosition) throws {
    try requireOpen()
    try GroupFiles.validate(name)
    let topic = try self.topic(topic)
    let lock = try GroupLock.take(name, in: directory)
    defer { lock.release() }
    let now = core.options.clock()
    var targets: [(Int, CommittedOffset)] = []
    for (partition, range) in try topic.offsets().enumerated() {
      let offset = try topic.resolve(position, partition, range)
      targets.append((partition, CommittedOffset(offset: offset, at: now)))
    }
    let file = try GroupFile.open(name, in: directory, isWritable: true)
    try file.name(topic.id, topic.name)
    try file.write { transaction in
      for (partition, target) in targets {
        try file.put(topic: topic.id, partition: partition, target, in: transaction)
      }
    }
  }

  /// Removes the group and all that it has committed.
  ///
  /// - Throws: `groupInUse` while any process has members of it; `unknownGroup`, `storage`.
  public func deleteGroup(_ name: String) throws(EventLogError) {
    try requireOpen()
    try GroupFiles.validate(name)
    let path = GroupFiles.path(name, in: directory)
    guard LogFiles.size(path) != nil else {
      throw EventLogError(.unknownGroup, "there is no group \(name)", path: path)
    }
    let lock = try GroupLock.take(name, in: directory)
    defer { lock.release() }
    try LogFiles.removeSegment(path)
    try LogFiles.removeFile(GroupFiles.lockPath(name, in: directory))
    try LogFiles.syncDirectory(GroupFiles.folder(of: directory))
  }
}

extension EventLog {
  /// Copies what the groups have committed into the folder of a copy of the log.
  func backupGroups(to target: String) throws {
    let names = GroupFiles.names(in: directory)
    if names.isEmpty { return }
    try LogFiles.makeDirectory(GroupFiles.folder(of: target))
    for name in names {
      do throws(EventLogError) {
        try GroupFile.look(name, in: directory) { file throws(EventLogError) in
          try file.backup(to: GroupFiles.path(name, in: target))
        }
      } catch {
        // Deleted since.
        if error.code != .unknownGroup { throw error }
      }
    }
    try LogFiles.syncDirectory(GroupFiles.folder(of: target))
  }
}

extension LogTopic {
  /// The offset in `partition`, which holds `range`, that `position` means.
  func resolve(_ position: StartPosition, _ partition: Int, _ range: Range<Int64>) throws -> Int64 {
    switch position {
    case .earliest: return range.lowerBound
    case .latest: return range.upperBound
    case .time(let time): return try offset(forTimestamp: time, partition: partition) ?? range.upperBound
    case .offset(let offset):
      if offset < range.lowerBound || offset > range.upperBound {
        throw EventLogError.offsetOutOfRange(offset, range, topic: name, partition: partition)
      }
      return offset
    }
  }
}
