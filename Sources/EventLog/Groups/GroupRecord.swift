/// A record given to a member of a group, to be committed by it.
@dynamicMemberLookup
public struct GroupRecord: Hashable, Sendable {
  public var record: OwnedRecord
  /// The generation in which the member got the partition; a commit from an earlier one is refused.
  public let generation: UInt64

  init(_ record: OwnedRecord, generation: UInt64) {
    self.record = record
    self.generation = generation
  }

  /// Its partition, offset, timestamp, key, value and headers.
  public subscript<Value>(dynamicMember path: KeyPath<OwnedRecord, Value>) -> Value { record[keyPath: path] }
}
