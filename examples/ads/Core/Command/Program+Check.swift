import Millrace

extension Program {
  /// Compares every row, the topic of attributions and many selections with `model`.
  func check(_ ads: AdsStore, _ rows: ViewRows, against model: ReferenceModel) async throws {
    var log = AttributionLog()
    for try await entry in try ads.attributions.events() { log.add(entry.event) }
    var wrong = rows.differences(from: model) + log.differences(from: model)
    let queries = Self.queries(for: model)
    try ads.read { snapshot in
      for query in queries {
        let (found, right) = (try query.select(from: snapshot), model.select(query))
        if found != right { wrong.append("\(query) gives \(found.map(\.product)), not \(right.map(\.product))") }
      }
    }
    let compared =
      "\(Money.grouped(rows.count)) rows, "
      + "\(Money.grouped(log.count)) attributions and \(Money.grouped(queries.count)) selections"
    guard wrong.isEmpty else {
      for sentence in wrong.prefix(20) { note(sentence) }
      throw AdsError(
        .oracleFailed, "\(wrong.count) of \(compared) differ from the reference model",
        at: .init(file: ads.store.path), remedy: "See the differences above")
    }
    say("\nChecked against the reference model: \(compared) agree")
  }

  /// A selection of every eighth household, for some text on some day: the model takes 25 ms for each.
  static func queries(for model: ReferenceModel) -> [AdQuery] {
    let texts = ["cheese", "soup", "frzn", "candy", "meat", "", "no such category"]
    let households = model.households.keys.sorted().enumerated().filter { $0.offset % 8 == 0 }.map(\.element)
    return households.enumerated().map { index, household in
      AdQuery(
        household: household, categoryContains: texts[index % texts.count],
        at: Day(number: DataSet.firstDay.number + index % 31).start)
    }
  }
}
