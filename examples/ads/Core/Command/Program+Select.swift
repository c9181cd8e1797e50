import Millrace

extension Program {
  /// `ads select`
  func select(_ options: Options) throws {
    guard let household = options.household else {
      throw AdsError(.usage, "select needs a household", remedy: "Write: ads select --household 1240 --query cheese")
    }
    let ads = try AdsStore(at: options.store, .readOnly)
    let query = AdQuery(
      household: household, categoryContains: options.query,
      at: options.date.next.start.advanced(byMicroseconds: -1), count: options.count)
    try ads.read { snapshot in
      let campaigns = try snapshot.household(household)?.campaigns ?? ""
      say("Best ads for \(Report.title(query, campaigns: campaigns)), at checkpoint \(snapshot.checkpoint)")
      say(Report.ads(try query.select(from: snapshot)))
    }
    ads.store.close()
  }
}
