import Millrace

/// `millrace query`: rows of a view, from one snapshot.
struct QueryCommand {
  let console: Console
  let options: QueryOptions
  let format: OutputFormat

  func run(_ store: Store, _ view: String) throws -> Int32 {
    try store.read { snapshot in
      let names = snapshot.viewDefinitions.map(\.name)
      guard names.contains(view) else {
        throw NameError(kind: "view", name: view, known: names, store: store.path)
      }
      let reader = try snapshot.dynamic(view)
      let plan = try QueryPlan(options, reader.definition)
      var writer = RowWriter(console: console, format: format, names: plan.shown)
      try writer.begin()
      try plan.run(reader) { values in try writer.append(values) }
      try writer.end()
    }
    return ExitCode.success
  }
}

/// What a query asks of the view, and what is left to do with its rows.
struct QueryPlan {
  /// The columns shown, in order.
  let shown: [String]
  private var query = DynamicQuery()
  private let filter: RowFilter
  private let orders: [(index: Int, isDescending: Bool)]
  private let limit: Int?
  private let indexes: [String: Int]

  /// - Throws: `UsageError` for columns that are not there and literals that do not fit.
  init(_ options: QueryOptions, _ view: ViewDefinition) throws(UsageError) {
    shown = options.columns ?? view.columns.map(\.name)
    limit = options.limit
    filter = try RowFilter(options.filter, view)
    var columns = shown
    let needed = shown + options.order.map(\.column) + (filter.rest == nil ? [] : options.filter?.columns ?? [])
    for name in needed {
      _ = try view.requiredColumn(name)
      if !columns.contains(name) { columns.append(name) }
    }
    for order in options.order where try view.requiredColumn(order.column).type == .opaque {
      throw UsageError(message: "column '\(order.column)' cannot be sorted by", command: "query")
    }
    indexes = Dictionary(columns.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
    query.columns = columns
    query.conditions = filter.conditions
    // One column and nothing left to ask: the view finds the first rows itself.
    if options.order.count == 1, filter.rest == nil, let order = options.order.first {
      query.order = order.column
      query.descending = order.isDescending
      orders = []
    } else {
      var orders: [(Int, Bool)] = []
      for order in options.order { if let index = indexes[order.column] { orders.append((index, order.isDescending)) } }
      self.orders = orders
    }
    if orders.isEmpty, filter.rest == nil { query.limit = limit }
  }

  /// Gives `body` the values of the shown columns of each row, in order.
  func run(_ reader: DynamicReader, _ body: ([ColumnValue]) throws -> Void) throws {
    var count = 0
    var kept: [[ColumnValue]] = []
    try reader.forEach(query) { row in
      if let rest = filter.rest {
        let isWanted = rest.holds { name in indexes[name].map { row.values[$0] } ?? .null }
        if !isWanted { return true }
      }
      if orders.isEmpty {
        try body(shownValues(row.values))
        count += 1
        return limit.map { count < $0 } ?? true
      }
      kept.append(row.values)
      // Twice the limit, so that sorting is rare.
      if let limit, kept.count >= 2 * min(limit, Int.max / 4) + 1000 { kept = Array(sorted(kept).prefix(limit)) }
      return true
    }
    if orders.isEmpty { return }
    for values in sorted(kept).prefix(limit ?? .max) { try body(shownValues(values)) }
  }

  private func shownValues(_ values: [ColumnValue]) -> [ColumnValue] {
    values.count == shown.count ? values : Array(values.prefix(shown.count))
  }

  /// Equal rows keep their order, that of their primary keys: `sort` is stable.
  private func sorted(_ rows: [[ColumnValue]]) -> [[ColumnValue]] {
    rows.sorted { left, right in
      for order in orders {
        let difference = RowValueOrder.compare(left[order.index], right[order.index]) ?? 0
        if difference != 0 { return order.isDescending ? difference > 0 : difference < 0 }
      }
      return false
    }
  }
}

/// A name that the store does not know.
struct NameError: Error, CustomStringConvertible {
  var kind: String
  var name: String
  var known: [String]
  var store: String

  var description: String {
    let hint = Suggestion.text(for: name, among: known)
    let list = known.isEmpty ? "; it has none" : "; there are \(known.sorted().joined(separator: ", "))"
    return "\(store) has no \(kind) '\(name)'\(hint.isEmpty ? list : hint)"
  }
}
