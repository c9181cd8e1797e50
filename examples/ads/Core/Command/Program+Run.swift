import Millrace

extension Program {
  /// `ads feed`
  func feed(_ options: Options) async throws {
    if options.fresh { try StoreFolder.remove(options.store) }
    let ads = try AdsStore(at: options.store)
    try await feed(ads, data(options))
    ads.store.close()
  }

  /// `ads run`: the month from the first event to the report.
  func runMonth(_ options: Options) async throws {
    if options.fresh { try StoreFolder.remove(options.store) }
    let data = data(options)
    let ads = try AdsStore(at: options.store)
    try await feed(ads, data)
    try await materialize(ads, options)

    let end = DataSet.lastDay.next.start.advanced(byMicroseconds: -1)
    let rows = try ads.read { snapshot in
      let rows = try snapshot.allRows()
      say("\nWhat the month holds, and what the views say at checkpoint \(snapshot.checkpoint)")
      say(Report.oracles(rows.totals.oracles(expecting: .ofTheMonth)))
      say("\nCampaigns on \(DataSet.lastDay)")
      say(Report.campaigns(rows.campaigns, at: end))
      try showAds(rows, snapshot, at: end)
      return rows
    }
    if options.check { try await check(ads, rows, against: ReferenceModel(data)) }
    let wrong = rows.totals.oracles(expecting: .ofTheMonth).filter { !$0.holds }
    ads.store.close()
    if !wrong.isEmpty {
      throw AdsError(
        .oracleFailed, "wrong: \(wrong.map(\.name).joined(separator: ", "))", at: .init(file: options.store),
        remedy: "Compare row by row with --check, or begin again with --fresh")
    }
  }

  private func feed(_ ads: AdsStore, _ data: DataSet) async throws {
    let (count, seconds) = try await timed { try await ads.feed(data) }
    if count == 0 {
      say("The events are in the store already")
    } else {
      say("Appended \(Money.grouped(count)) events in \(rounded(seconds)) s (\(rate(count, seconds))/s)")
    }
  }

  private func materialize(_ ads: AdsStore, _ options: Options) async throws {
    let job = try ads.materialize()
    if try ads.store.jobs().contains(where: { $0.name == job.name && $0.status == .drained }) {
      say("The job has worked through them already")
      return
    }
    let (_, seconds) = try await timed {
      try await ads.store.run(job, RunOptions(mode: .drain, parallelism: options.parallelism))
    }
    let threads = options.parallelism == 1 ? "one subtask" : "\(options.parallelism) subtasks"
    say("Ran the job to their end with \(threads) in \(rounded(seconds)) s")
  }

  /// A few households and queries, from the snapshot that the rest of the report is from.
  private func showAds(_ rows: ViewRows, _ snapshot: AdsSnapshot, at time: Timestamp) throws {
    var shown = ShownHouseholds()
    for row in rows.households { shown.consider(row) }
    let texts = ["cheese", "soup", "frzn", ""]
    for (household, text) in zip(shown.chosen(texts.count), texts) {
      let query = AdQuery(household: household.household, categoryContains: text, at: time)
      say("\nBest ads for \(Report.title(query, campaigns: household.campaigns))")
      say(Report.ads(try query.select(from: snapshot)))
    }
  }
}
