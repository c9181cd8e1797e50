import LMDB

extension TopicWriter {
  enum Replacement: Sendable {
    case done
    /// Somebody holds segments: try again later.
    case held
    /// The segments are no longer there: retention removed them.
    case outdated
  }

  /// Puts `new` into the place of `old`, neighbours, in one transaction of the catalogue. On the writer's thread, so
  /// that no roll and no removal happens meanwhile. Their files stay for the caller to remove.
  func replace(_ old: [SegmentRecord], with new: SegmentRecord) throws -> Replacement {
    _ = try state.snapshot()
    let numbers = old.map(\.number)
    guard let first = segments.firstIndex(where: { $0.number == numbers.first }),
      segments[first...].prefix(numbers.count).map(\.number) == numbers
    else { return .outdated }
    let isChanged = try core.changingSegments { () throws(EventLogError) in
      try core.catalog.write("replacing segments failed") { transaction in
        for segment in old { try core.catalog.remove(segment, in: transaction) }
        try core.catalog.use(segment: new.number, in: transaction)
        try core.catalog.put(new, in: transaction)
      }
    }
    if !isChanged { return .held }
    segments.replaceSubrange(first..<first + old.count, with: [new])
    publishSegments()
    return .done
  }
}
