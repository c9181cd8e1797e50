import Bytes

/// What the headers of a dead letter are called; their values are text. The record's own headers come first.
public enum DeadLetterHeader {
  /// What went wrong, at most 1,024 bytes.
  public static let reason = "dead-letter-reason"
  public static let group = "dead-letter-group"
  /// Where the record was.
  public static let topic = "dead-letter-topic"
  public static let partition = "dead-letter-partition"
  public static let offset = "dead-letter-offset"
  /// How often it was tried.
  public static let attempts = "dead-letter-attempts"

  static func make(
    _ record: OwnedRecord, _ error: any Error, attempts: Int, topic: String, group: String
  ) -> NewRecord {
    let headers = [
      (Self.reason, String(decoding: String(describing: error).utf8.prefix(1024), as: UTF8.self)),
      (Self.group, group), (Self.topic, topic), (Self.partition, "\(record.partition)"),
      (Self.offset, "\(record.offset)"), (Self.attempts, "\(attempts)"),
    ]
    return NewRecord(
      key: record.key, value: record.value, timestamp: record.timestamp,
      headers: record.headers + headers.map { LogHeader($0.0, Array($0.1.utf8)) })
  }
}

extension LogTopic {
  /// Appends `record`, which could not be handled, as a dead letter; returns when it is durable.
  package func append(
    deadLetter record: OwnedRecord, _ error: any Error, attempts: Int = 1, of subscription: Subscription
  ) async throws {
    let letter = DeadLetterHeader.make(
      record, error, attempts: attempts, topic: subscription.topic.name, group: subscription.group)
    try await append(key: letter.key, value: letter.value, timestamp: letter.timestamp, headers: letter.headers)
  }
}

/// Thrown by a body that knows what is to become of the record: it is not tried again.
package struct DeliveryRejection: Error {
  package var policy: FailurePolicy
  package var underlying: any Error

  package init(_ policy: FailurePolicy, _ underlying: any Error) {
    self.policy = policy
    self.underlying = underlying
  }
}
