import Foundation

/// The project's files as the house rules see them.
struct SourceTree {
  struct File {
    /// From the project's root, with `/`.
    let path: String
    let lines: [String]

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
  }

  let root: String

  /// The project that this file belongs to. Where the tests were built is where they look.
  static let project = SourceTree(
    root: #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/"))

  /// The folders that hold Swift code of ours.
  static let codeFolders = ["Sources", "Tests", "Benchmarks", "examples"]

  /// Every Swift file below `folders`, in the order of its path.
  func swiftFiles(in folders: [String] = codeFolders) throws -> [File] {
    var paths: [String] = []
    for folder in folders {
      // Resolved, because a package may link to the folders of another.
      let start = URL(fileURLWithPath: "\(root)/\(folder)").resolvingSymlinksInPath().path
      guard let names = FileManager.default.enumerator(atPath: start) else { continue }
      for case let name as String in names where name.hasSuffix(".swift") { paths.append("\(folder)/\(name)") }
    }
    return try paths.sorted().map { path in
      File(path: path, lines: try text(path).components(separatedBy: "\n"))
    }
  }

  func text(_ path: String) throws -> String { try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8) }

  func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(root)/\(path)") }

  /// The names of the folders directly below `folder`.
  func folders(in folder: String) throws -> [String] {
    let start = URL(fileURLWithPath: "\(root)/\(folder)").resolvingSymlinksInPath().path
    return try FileManager.default.contentsOfDirectory(atPath: start).filter { name in
      var isFolder: ObjCBool = false
      let found = unsafe FileManager.default.fileExists(atPath: "\(start)/\(name)", isDirectory: &isFolder)
      return found && isFolder.boolValue
    }.sorted()
  }
}
