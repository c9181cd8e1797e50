import Foundation

/// Which records of a run are durable for certain.
struct Durability {
  /// Per file, what comes before this index is durable.
  private var files: [Int: Int] = [:]
  /// Per folder path, name changes in it before this index are durable.
  private var folders: [String: Int] = [:]

  init(_ records: ArraySlice<Journal.Record>) {
    var begun: [Int: Int] = [:]
    var folderPaths: [Int: String] = [:]
    for (index, record) in records.enumerated() {
      switch record.event {
      case .seen(let path, _, isFolder: true): folderPaths[record.file] = path
      case .syncBegin(let number): begun[number] = index
      case .syncEnd(let number):
        guard let begin = begun[number] else { continue }
        files[record.file] = max(files[record.file] ?? 0, begin)
        if let path = folderPaths[record.file] { folders[path] = max(folders[path] ?? 0, begin) }
      default: break
      }
    }
  }

  func covers(file: Int, _ index: Int) -> Bool { index < files[file] ?? 0 }

  func covers(_ change: Names.Change) -> Bool {
    change.index < folders[URL(fileURLWithPath: change.path).deletingLastPathComponent().path] ?? 0
  }
}

/// What was written to one file, and whether each step is durable for certain.
struct FileHistory {
  private enum Step {
    case write(offset: Int, bytes: [UInt8])
    case truncate(size: Int)
  }

  private var steps: [(step: Step, isDurable: Bool)] = []

  mutating func write(_ offset: Int, _ bytes: [UInt8], _ isDurable: Bool) {
    steps.append((.write(offset: offset, bytes: bytes), isDurable))
  }

  mutating func truncate(_ size: Int, _ isDurable: Bool) { steps.append((.truncate(size: size), isDurable)) }

  /// The file after a crash: every sector in one of its states since it was last durable.
  func contents(start: [UInt8], sectorSize: Int, keeping probability: Double, random: inout SeededRandom) -> [UInt8] {
    // Per sector, the steps that touched it and how many of them are durable: the cache is written back as a whole
    // page, so a durable step carries all earlier ones of its sector with it.
    var touched: [Int: [Int]] = [:]
    var durable: [Int: Int] = [:]
    for (index, entry) in steps.enumerated() {
      guard case .write(let offset, let bytes) = entry.step, !bytes.isEmpty else { continue }
      for sector in offset / sectorSize...(offset + bytes.count - 1) / sectorSize {
        touched[sector, default: []].append(index)
        if entry.isDurable { durable[sector] = touched[sector]?.count }
      }
    }
    var last: [Int: Int] = [:]
    for sector in touched.keys.sorted() {
      guard let indexes = touched[sector] else { continue }
      var count = durable[sector] ?? 0
      if count < indexes.count, random.chance(probability) {
        count = probability >= 1 ? indexes.count : Int.random(in: count + 1...indexes.count, using: &random)
      }
      last[sector] = count > 0 ? indexes[count - 1] : -1
    }
    var contents = start
    for (index, entry) in steps.enumerated() {
      switch entry.step {
      case .truncate(let size):
        if entry.isDurable || random.chance(probability) {
          contents = Array(contents.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - contents.count))
        }
      case .write(let offset, let bytes):
        guard !bytes.isEmpty else { continue }
        for sector in offset / sectorSize...(offset + bytes.count - 1) / sectorSize where index <= last[sector] ?? -1 {
          let from = max(offset, sector * sectorSize)
          let to = min(offset + bytes.count, (sector + 1) * sectorSize)
          if contents.count < to { contents += [UInt8](repeating: 0, count: to - contents.count) }
          contents.replaceSubrange(from..<to, with: bytes[from - offset..<to - offset])
        }
      }
    }
    return contents
  }
}
