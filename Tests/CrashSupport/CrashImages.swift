import Foundation

/// Rebuilds what a crash of the machine could have left of the files of a recorded run.
///
/// The model: what a sync covered is there. Of everything else, each 4 KB sector of a file holds any of the states that
/// it had since its last sync, independently of its neighbours (so a single write may be torn), and a length follows
/// the sectors that made it. Names (creation, renaming, removal) are kept in order, as journalling file systems do: all
/// up to the last one that a sync of its folder covered, and some number more. A file whose name is not durable is not
/// there, even if its contents were synced.
public struct CrashImages {
  private static let sectorSize = 4096

  public let journal: Journal
  /// The folder that was recorded.
  public let root: String
  /// Its contents when the recording began, all durable; nil if it was empty.
  public let base: String?

  public init(journal: Journal, root: String, base: String? = nil) {
    self.journal = journal
    self.root = root
    self.base = base
  }

  /// Builds in `folder` (made anew) a state that a crash just before record `position` could have left; a write at
  /// `position` itself may have been under way. With `keeping` 0 only what is durable is there, with 1 everything.
  public func build(
    at position: Int, in folder: String, keeping probability: Double, random: inout SeededRandom
  ) throws {
    let durability = Durability(journal.records[..<position])
    try? FileManager.default.removeItem(atPath: folder)
    if let base {
      try FileManager.default.copyItem(atPath: base, toPath: folder)
    } else {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    var names = Names(root: root, folder: folder)
    let nameChanges = names.changes(in: journal.records[..<position])
    let firstOpen = nameChanges.lastIndex { durability.covers($0) }.map { $0 + 1 } ?? 0
    var kept = firstOpen
    while kept < nameChanges.count && random.chance(probability) { kept += 1 }
    for change in nameChanges[..<kept] { try names.apply(change) }

    var histories: [Int: FileHistory] = [:]
    for (index, record) in journal.records[...min(position, journal.records.count - 1)].enumerated() {
      switch record.event {
      case .write(let offset, let bytes, let isSynced):
        let isDurable = index < position && (isSynced || durability.covers(file: record.file, index))
        histories[record.file, default: FileHistory()].write(offset, bytes, isDurable)
      case .truncate(let size) where index < position:
        histories[record.file, default: FileHistory()].truncate(size, durability.covers(file: record.file, index))
      default: break
      }
    }
    for file in histories.keys.sorted() {
      // Also a file without a name is drawn for, so that the random numbers do not depend on names.
      let path = names.path(of: file)
      let start = path.flatMap { FileManager.default.contents(atPath: $0) }.map { [UInt8]($0) } ?? []
      let contents = histories[file]?.contents(
        start: start, sectorSize: Self.sectorSize, keeping: probability, random: &random)
      guard let path, let contents else { continue }
      try Data(contents).write(to: URL(fileURLWithPath: path))
    }
  }
}

extension SeededRandom {
  /// True with the given probability; 0 never, 1 always.
  mutating func chance(_ probability: Double) -> Bool {
    probability >= 1 || (probability > 0 && Double.random(in: 0..<1, using: &self) < probability)
  }
}
