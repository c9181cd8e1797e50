import CLMDB
import Glibc

extension Environment {
  /// How much room the file takes.
  public struct Usage: Sendable, Hashable {
    /// Bytes up to the last page ever used; freed pages within are reused.
    public var bytesUsed: Int
    /// The size limit in bytes.
    public var mapSize: Int
    public var lastTransactionID: Int
    /// Reader slots taken, of every process; idle ones of this process included.
    public var readerSlots: Int
  }

  public var usage: Usage {
    guard let info = unsafe core.information else {
      return Usage(bytesUsed: 0, mapSize: core.options.mapSize, lastTransactionID: 0, readerSlots: 0)
    }
    return unsafe Usage(
      bytesUsed: (info.me_last_pgno + 1) * core.pageSize, mapSize: info.me_mapsize,
      lastTransactionID: lastTransactionID,
      readerSlots: Int(info.me_numreaders))
  }

  /// An open read transaction of any process.
  public struct Reader: Sendable, Hashable {
    public var processID: Int32
    /// The commit that it sees; pages freed since cannot be reused.
    public var transactionID: Int

    public init(processID: Int32, transactionID: Int) {
      self.processID = processID
      self.transactionID = transactionID
    }
  }

  /// The open read transactions of every process, oldest first.
  public func openReaders() -> [Reader] {
    let lines = Lines()
    _ = unsafe mdb_reader_list(
      core.pointer,
      { text, context in
        guard let text = unsafe text, let context = unsafe context else { return -1 }
        unsafe Unmanaged<Lines>.fromOpaque(context).takeUnretainedValue().all.append(String(cString: text))
        return 0
      }, Unmanaged.passUnretained(lines).toOpaque())
    // Lines are "pid thread transaction", the transaction "-" for an idle slot; the first line is a title.
    let readers = lines.all.compactMap { line -> Reader? in
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count == 3, let process = Int32(fields[0]), let transaction = Int(fields[2]) else { return nil }
      return Reader(processID: process, transactionID: transaction)
    }
    return readers.sorted { $0.transactionID < $1.transactionID }
  }

  /// Frees the slots of processes that died; returns how many.
  @discardableResult
  public func clearStaleReaders() throws(LMDBError) -> Int { try core.clearStaleReaders() }

  /// Milliseconds for which this process's oldest open read transaction has been open; nil if none is.
  public var oldestReaderAge: Int? { core.readers.oldestAge() }

  /// Ends this process's read transactions older than `Options.maximumReaderAge`: their next use throws
  /// `readerExpired` and unpins their pages. To be called from time to time; returns how many were found.
  @discardableResult
  public func expireReaders() -> Int {
    guard let limit = core.options.maximumReaderAge else { return 0 }
    let (seconds, attoseconds) = limit.components
    return core.readers.expire(olderThan: Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
  }
}

/// Where LMDB's callback puts the lines of its reader table.
private final class Lines {
  var all: [String] = []
}
