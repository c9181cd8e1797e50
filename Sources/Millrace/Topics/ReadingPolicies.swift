/// What becomes of a record whose bytes are not of the topic's type.
public enum UndecodablePolicy: Sendable {
  /// Reading throws, naming topic, partition and offset. The default.
  case fail
  /// It is left out; a job counts it in its source's `skipped`.
  case skip
}

/// What becomes of records that retention removed before a job read them.
public enum RemovedPolicy: Sendable {
  /// The job fails with `EventLogError.offsetOutOfRange` and the valid range: what it would compute is not what the
  /// events say. The default.
  case fail
  /// It goes on at the oldest record that is left; the others are counted in its source's `skipped`.
  case skip
}
