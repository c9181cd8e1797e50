internal import LMDB
public import Records

/// Loads single rows by the bytes of their keys from a commit that moves on when it is told to: what a fold into a view
/// reads its state with. Used by one thread at a time.
///
/// Holds a read transaction between `renew` calls.
public final class ViewRowLoader<Row: Record> {
  private let snapshot: ViewSnapshot
  private let view: View<Row>
  private var reader: ViewReader<Row>

  /// A loader on the newest commit.
  ///
  /// - Throws: `unknownView`, `schemaMismatch`; LMDB's errors.
  public init(_ view: View<Row>) throws {
    self.view = view
    snapshot = try ViewSnapshot(view.space, view.space.environment.beginRead())
    reader = try snapshot[view]
  }

  /// The row whose primary key has these bytes in `KeyEncoding`, or nil, as of the last `renew`.
  @unsafe
  public func load(_ key: UnsafeRawBufferPointer) throws -> Row? { unsafe try reader.get(keyBytes: key) }

  /// Moves to the newest commit.
  public func renew() throws {
    try snapshot.renew()
    reader = try snapshot[view]
  }
}
