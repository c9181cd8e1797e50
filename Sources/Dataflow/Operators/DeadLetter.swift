public import Bytes
public import Records

/// A record that an operator could not handle, with what is needed to understand it and to send it through again.
public struct DeadLetter<Element: Sendable>: Sendable {
  /// The error that was thrown, as text.
  public var reason: String
  /// The operator that threw, by name.
  public var operatorName: String
  /// The job that it belongs to.
  public var job: String
  /// The record; nil where a timer or a window failed and not a record.
  public var element: Element?
  /// The record's key bytes; nil where the stream had no keys.
  public var key: [UInt8]?
  /// The record's timestamp; of a timer or window, the time for which it fired.
  public var timestamp: Timestamp

  public init(
    reason: String, operatorName: String, job: String, element: Element?, key: [UInt8]?, timestamp: Timestamp
  ) {
    self.reason = reason
    self.operatorName = operatorName
    self.job = job
    self.element = element
    self.key = key
    self.timestamp = timestamp
  }
}

extension DeadLetter: Equatable where Element: Equatable {}
extension DeadLetter: Decodable where Element: Decodable {}
extension DeadLetter: Encodable where Element: Encodable {}

/// As a record it is stored by its Codable form, the element's own coding included.
extension DeadLetter: Record where Element: Record {
  public static func recordCodec() throws(RecordsError) -> Codec<DeadLetter<Element>> { .codable }
}
