import Foundation

/// The folder of a store on disk.
package enum StoreFolder {
  /// Removes the store at `path`, if there is one. Refuses a folder that is not empty and holds no store: a mistyped
  /// path must not cost anybody their files.
  package static func remove(_ path: String) throws {
    let files = FileManager.default
    guard files.fileExists(atPath: path) else { return }
    let names: [String]
    do { names = try files.contentsOfDirectory(atPath: path) } catch {
      throw AdsError(
        .fileAccess, "is no folder that can be read", at: .init(file: path), remedy: "Give another --store",
        cause: error)
    }
    guard names.isEmpty || names.contains("FORMAT") else {
      throw AdsError(
        .fileAccess, "holds files but no store, and --fresh would remove them", at: .init(file: path),
        remedy: "Give another --store, or empty the folder yourself")
    }
    do { try files.removeItem(atPath: path) } catch {
      throw AdsError(
        .fileAccess, "cannot be removed", at: .init(file: path), remedy: "Check the folder's permissions", cause: error)
    }
  }
}
