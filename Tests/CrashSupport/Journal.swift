import Foundation

/// What a recorded child did, in order. The layout is that of `struct record` in Tests/CrashRecorder/recorder.c.
public struct Journal: Sendable {
  public enum Event: Sendable, Equatable {
    /// A file or folder was opened for the first time; `isNew`: this call created it.
    case seen(path: String, isNew: Bool, isFolder: Bool)
    /// `isSynced`: durable at its end, as with O_DSYNC.
    case write(offset: Int, bytes: [UInt8], isSynced: Bool)
    case truncate(size: Int)
    case syncBegin(number: Int)
    case syncEnd(number: Int)
    case rename(from: String, to: String)
    case link(from: String, to: String)
    case unlink(path: String)
    case makeFolder(path: String)
    case removeFolder(path: String)
    /// The child wrote this to its standard output.
    case mark(String)
  }

  public struct Record: Sendable {
    /// The file, numbered from 1 in order of appearance; 0 where there is none.
    public var file: Int
    public var event: Event
  }

  public let records: [Record]

  /// Reads the journal at `path`; one that ends in the middle of a record (its writer was killed) ends before it.
  public init(path: String) throws {
    let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var records: [Record] = []
    var offset = 0
    func number<T: FixedWidthInteger>(_ type: T.Type, at position: Int) -> Int {
      data.withUnsafeBytes { Int(truncatingIfNeeded: $0.loadUnaligned(fromByteOffset: position, as: type)) }
    }
    while offset + 40 <= data.count, number(UInt32.self, at: offset) == 0x4a52_4e4c {
      let size = number(UInt32.self, at: offset + 32)
      guard offset + 40 + size <= data.count else { break }
      let record = Self.event(
        kind: number(UInt32.self, at: offset + 4), flags: number(UInt32.self, at: offset + 12),
        offset: number(UInt64.self, at: offset + 16), length: number(UInt64.self, at: offset + 24),
        payload: data[offset + 40..<offset + 40 + size])
      if let record { records.append(Record(file: number(UInt32.self, at: offset + 8), event: record)) }
      offset += 40 + size
    }
    self.records = records
  }

  private static func event(kind: Int, flags: Int, offset: Int, length: Int, payload: ArraySlice<UInt8>) -> Event? {
    let text = String(decoding: payload, as: UTF8.self)
    let names = payload.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    switch kind {
    case 1: return .seen(path: text, isNew: flags & 1 != 0, isFolder: flags & 2 != 0)
    case 2: return .write(offset: offset, bytes: Array(payload), isSynced: flags & 4 != 0)
    case 3: return .truncate(size: length)
    case 4: return .syncBegin(number: length)
    case 5: return .syncEnd(number: length)
    case 6: return names.count == 2 ? .rename(from: names[0], to: names[1]) : nil
    case 7: return .unlink(path: text)
    case 8: return .makeFolder(path: text)
    case 9: return .removeFolder(path: text)
    case 10: return .mark(text)
    case 11: return names.count == 2 ? .link(from: names[0], to: names[1]) : nil
    default: return nil
    }
  }

  /// The positions just before each sync's end: the moments at which most is written and not yet durable.
  public var syncPositions: [Int] {
    records.indices.filter { index in
      switch records[index].event {
      case .syncEnd, .write(_, _, isSynced: true): true
      default: false
      }
    }
  }

  /// The lines that the child had written to its standard output before `position`.
  public func marks(before position: Int) -> [String] {
    var text = ""
    for record in records[..<position] {
      if case .mark(let part) = record.event { text += part }
    }
    return text.split(separator: "\n").map(String.init)
  }
}
