import Bytes
import LMDB

extension SegmentFile {
  /// Gives the producer of that name its next epoch, as a commit of its own: older ones are fenced from then on.
  func openProducer(
    _ name: String, topic: String, now: Timestamp, _ producers: inout ProducerTable
  ) throws -> ProducerID {
    let id = ProducerID.id(ofName: name)
    if let known = producers.registrations[id] {
      guard known.name == name else {
        throw EventLogError(
          .invalidOptions, "the producer's name has the hash of another one's, \(known.name); choose another name",
          topic: topic)
      }
    } else if !producers.hasRoom(at: now.microseconds) {
      throw EventLogError.tooManyProducers(topic: topic)
    }
    guard let epoch = producers.nextEpoch(id) else {
      throw EventLogError(
        .invalidOptions, "the producer was opened four billion times; choose another name", topic: topic)
    }
    let registration = ProducerTable.Registration(name: name, epoch: epoch, openedAt: now.microseconds)
    try environment.write { transaction in
      try put(SegmentMeta.registrationKey(id), SegmentMeta.registration(registration), in: transaction)
    }
    producers.register(id, registration)
    return ProducerID(id: id, epoch: epoch)
  }
}

extension ProducerID {
  /// The id of a producer that is opened by name. Part of the format.
  static func id(ofName name: String) -> UInt64 {
    var bytes = ByteBuffer(capacity: 64)
    bytes.append(utf8: "producer\0" + name)
    return unsafe KeyHash(bytes.bytes).value
  }
}
