import Bytes

extension SegmentFile {
  /// Why nothing of `unit`, whose first batch is `first`, may be written behind `tail`; nil if it may.
  func refusal(
    of first: BatchHandle, _ unit: ArraySlice<BatchHandle>, topic: String, _ now: Timestamp, tail: SegmentTail,
    _ producers: inout ProducerTable
  ) -> EventLogError? {
    for expectation in unsafe first.pointer.pointee.unit?.expectations ?? [] {
      let end = tail.nextOffsets[expectation.partition]
      if end != expectation.offset { return .unexpectedOffset(expectation, end, topic: topic) }
    }
    for batch in unit {
      guard let producer = unsafe batch.pointer.pointee.producer else { continue }
      let partition = unsafe batch.pointer.pointee.partition
      let sequence = unsafe batch.pointer.pointee.sequence
      let key = ProducerTable.Key(partition: partition, producer: producer.id)
      let count = unsafe batch.pointer.pointee.count
      switch producers.decide(key, epoch: producer.epoch, sequence: sequence, count: count) {
      case .append, .repeated:
        if producers[key] == nil && !producers.hasRoom(at: now.microseconds) { return .tooManyProducers(topic: topic) }
      case .gap(let expected):
        return .sequenceGap(producer, sent: sequence, due: expected, topic: topic, partition: partition)
      case .fenced(let epoch): return .fenced(producer, by: epoch, topic: topic, partition: partition)
      }
    }
    return nil
  }
}

extension ProducerTable {
  /// How many records at the front of `batch` are in the log already, and where the first of its repeats is, with
  /// those that were dropped before, if that is known.
  func known(_ batch: BatchHandle) -> (count: Int, offset: Int64?) {
    guard let producer = unsafe batch.pointer.pointee.producer else { return (0, nil) }
    let key = Key(partition: unsafe batch.pointer.pointee.partition, producer: producer.id)
    let sequence = unsafe batch.pointer.pointee.sequence
    let count = unsafe batch.pointer.pointee.count
    let before = unsafe batch.pointer.pointee.dropped
    var known = 0
    switch decide(key, epoch: producer.epoch, sequence: sequence, count: count) {
    case .append(let dropping): known = dropping
    case .repeated: known = count
    case .gap, .fenced: break
    }
    if known + before == 0 { return (0, nil) }
    return (known, self[key]?.offset(of: sequence - Int64(before), known + before))
  }
}

extension EventLogError {
  static func unexpectedOffset(_ expected: Expectation, _ actual: Int64, topic: String) -> EventLogError {
    var error = EventLogError(
      .unexpectedOffset,
      "the append expects the end at \(expected.offset), it is at \(actual); nothing was written: read what came in "
        + "between and decide again", topic: topic, partition: expected.partition)
    error.actualOffset = actual
    return error
  }

  static func sequenceGap(
    _ producer: ProducerID, sent sequence: Int64, due: Int64, topic: String, partition: Int
  ) -> EventLogError {
    var error = EventLogError(
      .sequenceGap, "producer \(producer.id) sent sequence \(sequence) where \(due) was due; send that first",
      topic: topic, partition: partition)
    error.expectedSequence = due
    return error
  }

  static func fenced(_ producer: ProducerID, by epoch: UInt32, topic: String, partition: Int?) -> EventLogError {
    EventLogError(
      .fenced, "producer \(producer.id) of epoch \(producer.epoch) was replaced by epoch \(epoch); stop it",
      topic: topic, partition: partition)
  }

  static func tooManyProducers(topic: String) -> EventLogError {
    EventLogError(
      .tooManyProducers,
      "the topic remembers as many idempotent producers as it may, and none of them has been idle for long enough to "
        + "be forgotten; use fewer names, or raise maximumProducers", topic: topic)
  }

  static func groupTooLarge(size: Int, limit: Int, topic: String) -> EventLogError {
    var error = EventLogError(
      .groupTooLarge,
      "a group of \(size) bytes is above the limit of \(limit) bytes for what is appended "
        + "together; nothing of it was written: split it into several", topic: topic)
    error.size = size
    error.limit = limit
    return error
  }
}
