import LMDB

/// Runs a `PageCheck` over a file, of one commit.
enum PageWalk {
  struct Result {
    var pages = 0
    var damages: [PageDamage] = []
  }

  /// Checks the file at `path`. `environment`: its environment if it may be written meanwhile, to pin a commit.
  static func run(_ path: String, _ environment: Environment?, progress: @escaping (Int) -> Void) throws -> Result {
    guard let environment else { return check(path, nil, progress) ?? unreadable(path) }
    // Two commits in between overwrite the meta page of the one that was pinned: then pin a later one.
    for _ in 0..<100 {
      let result = try environment.read { transaction in check(path, transaction.id, progress) }
      if let result { return result }
    }
    return unreadable(path)
  }

  private static func check(_ path: String, _ transaction: Int?, _ progress: @escaping (Int) -> Void) -> Result? {
    guard var check = PageCheck(path: path, transaction: transaction, progress: progress) else { return nil }
    check.run()
    return Result(pages: check.pages, damages: check.damages)
  }

  private static func unreadable(_ path: String) -> Result {
    Result(damages: [PageDamage(database: "", page: 0, reason: "the file has no valid meta page")])
  }
}
