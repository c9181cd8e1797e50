import EventLog
import LMDB

extension Store {
  /// What is wrong with the pages of the two files that opening a store walks: its state file and its log's catalogue.
  ///
  /// LMDB believes every page that it meets: a store with damage there may end the process that opens it. To be asked
  /// before opening a store that may be damaged; a file that is not there is left to `open`.
  public static func damagedPages(at path: String) throws -> [StoreVerification.Damage] {
    var damages: [StoreVerification.Damage] = []
    for (file, subject) in [(stateFile, "state file"), (logFolder + "/catalog.mdb", "catalogue of the log")] {
      let file = path + "/" + file
      // Opening the environment reads its meta pages only, and pins a commit.
      guard let environment = try? Environment.open(at: file, .init(access: .readOnly)) else { continue }
      for damage in try PageWalk.run(file, environment, progress: { _ in }).damages {
        damages.append(StoreVerification.Damage(damage, subject, file))
      }
    }
    return damages
  }
}

extension StoreVerification.Damage {
  init(_ damage: PageDamage, _ subject: String, _ path: String) {
    self.init(
      subject: damage.database.isEmpty ? subject : "\(subject), database \(damage.database)", path: path,
      detail: "page \(damage.page) is damaged: \(damage.reason); restore the file from a backup")
  }
}
