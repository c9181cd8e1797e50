public import Bytes
public import EventLog

extension Store {
  /// How a store is opened.
  public enum Access: Sendable {
    /// Reading and writing; creates the store if there is none. One at a time.
    case readWrite
    /// Reading beside the process that writes. Needs write access to the store's lock files.
    case readOnly
  }

  /// The settings of a store.
  public struct Options: Sendable {
    public var access: Access
    /// The size limit of the state file in bytes: address space, not disk space. It holds all state and views. Where it
    /// is reached jobs fail with their last checkpoint intact, and go on once the store is opened with a larger one.
    public var stateMapBytes: Int
    /// The most snapshots that may be open at once, over all processes.
    public var maximumSnapshots: Int
    /// The age at which a snapshot's next read throws instead of pinning old pages for ever; looked at every
    /// `maintenanceInterval`.
    public var maximumSnapshotAge: Duration
    /// How often the store looks after itself (see `maintain`), on a thread of its own; nil if only `maintain` does.
    public var maintenanceInterval: Duration?
    /// The settings of the log; its access is the store's.
    public var log: LogOptions
    /// The time, for records without their own and for ages; replaced in tests.
    public var clock: @Sendable () -> Timestamp

    public init(
      access: Access = .readWrite, stateMapBytes: Int = 64 << 30, maximumSnapshots: Int = 510,
      maximumSnapshotAge: Duration = .seconds(3600), maintenanceInterval: Duration? = .seconds(5),
      log: LogOptions = LogOptions(), clock: @escaping @Sendable () -> Timestamp = LogOptions.systemTime
    ) {
      self.access = access
      self.stateMapBytes = stateMapBytes
      self.maximumSnapshots = maximumSnapshots
      self.maximumSnapshotAge = maximumSnapshotAge
      self.maintenanceInterval = maintenanceInterval
      self.log = log
      self.clock = clock
    }
  }
}
