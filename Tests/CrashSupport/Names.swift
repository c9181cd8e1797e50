import Foundation

/// The names of the files of an image while changes to them are replayed.
struct Names {
  struct Change {
    var index: Int
    /// The path whose folder must be synced for the change to be durable.
    var path: String
    var event: Journal.Event
    var file: Int
  }

  let root: String
  let folder: String
  /// Which file a path names, by paths of the recorded folder.
  private var files: [String: Int] = [:]

  init(root: String, folder: String) {
    self.root = root
    self.folder = folder
  }

  /// The changes of names in `records`; files that were there before are learnt on the way.
  mutating func changes(in records: ArraySlice<Journal.Record>) -> [Change] {
    var changes: [Change] = []
    for (index, record) in records.enumerated() {
      let path: String
      switch record.event {
      case .seen(let name, let isNew, let isFolder):
        if isNew {
          path = name
        } else {
          if !isFolder { files[name] = record.file }
          continue
        }
      case .rename(_, let to), .link(_, let to): path = to
      case .unlink(let name), .makeFolder(let name), .removeFolder(let name): path = name
      default: continue
      }
      changes.append(Change(index: index, path: path, event: record.event, file: record.file))
    }
    return changes
  }

  /// Makes one change in the image.
  mutating func apply(_ change: Change) throws {
    let manager = FileManager.default
    switch change.event {
    case .seen(let path, _, _):
      files[path] = change.file
      _ = manager.createFile(atPath: image(path), contents: nil)
    case .rename(let from, let to):
      try? manager.removeItem(atPath: image(to))
      try manager.moveItem(atPath: image(from), toPath: image(to))
      for (path, file) in files where path == from || path.hasPrefix(from + "/") {
        files[path] = nil
        files[to + path.dropFirst(from.count)] = file
      }
    case .link(let from, let to):
      try manager.linkItem(atPath: image(from), toPath: image(to))
      files[to] = files[from]
    case .unlink(let path), .removeFolder(let path):
      files[path] = nil
      try? manager.removeItem(atPath: image(path))
    case .makeFolder(let path):
      try manager.createDirectory(atPath: image(path), withIntermediateDirectories: true)
    default: break
    }
  }

  /// Where the image holds a file, nil if it has no name.
  func path(of file: Int) -> String? {
    files.first { $0.value == file }.map { image($0.key) }
  }

  private func image(_ path: String) -> String { folder + path.dropFirst(root.count) }
}
