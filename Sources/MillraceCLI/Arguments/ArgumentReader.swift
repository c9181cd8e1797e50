/// Turns the split arguments of a command into values.
struct ArgumentReader {
  private let arguments: SplitArguments
  private let command: String

  init(_ arguments: SplitArguments, _ command: String) {
    self.arguments = arguments
    self.command = command
  }

  /// The splitter has made sure that there is one.
  func operand(_ index: Int) -> String { arguments.operands[index] }

  func value(_ option: String) -> String? { arguments.options[option]?.first }

  /// The values of an option that may be repeated.
  func values(_ option: String) -> [String] { arguments.options[option] ?? [] }

  func has(_ option: String) -> Bool { arguments.options[option] != nil }

  func format() throws(UsageError) -> OutputFormat {
    switch (has("json"), has("csv")) {
    case (true, true): throw wrong("options '--json' and '--csv' exclude each other")
    case (true, false): .json
    case (false, true): .csv
    case (false, false): .table
    }
  }

  func queryOptions() throws(UsageError) -> QueryOptions {
    var options = QueryOptions()
    options.limit = try integer("limit", atLeast: 1).map { Int($0) }
    if let text = value("where") {
      do throws(FilterError) {
        options.filter = try FilterExpression(parsing: text)
      } catch {
        throw wrong("'--where' cannot be understood: \(error)")
      }
    }
    if let text = value("order") {
      var order: [QueryOptions.Order] = []
      for item in try list("order", text) { order.append(try self.order(item)) }
      options.order = order
    }
    if let text = value("columns") { options.columns = try list("columns", text) }
    return options
  }

  private func order(_ text: String) throws(UsageError) -> QueryOptions.Order {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= 2, !parts[0].isEmpty, parts.count == 1 || ["asc", "desc"].contains(parts[1]) else {
      throw wrong("'--order' takes COLUMN, COLUMN:asc or COLUMN:desc, not '\(text)'")
    }
    return QueryOptions.Order(column: parts[0], isDescending: parts.last == "desc" && parts.count == 2)
  }

  /// The parts of a comma-separated list: none empty, none twice.
  func list(_ option: String, _ text: String, of noun: String = "column") throws(UsageError) -> [String] {
    let items = text.split(separator: ",", omittingEmptySubsequences: false).map { item in
      String(item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
    if items.contains("") { throw wrong("'--\(option)' has an empty part in '\(text)'") }
    let names = items.map { $0.split(separator: ":").first ?? "" }
    if Set(names).count < names.count { throw wrong("'--\(option)' names a \(noun) twice in '\(text)'") }
    return items
  }

  func integer(_ option: String, atLeast minimum: Int64) throws(UsageError) -> Int64? {
    guard let text = value(option) else { return nil }
    guard let number = Int64(text), number >= minimum else {
      throw wrong("'--\(option)' takes a whole number of at least \(minimum), not '\(text)'")
    }
    return number
  }

  /// The value of `option` as one of the cases of `type`.
  func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ option: String, _: Choice.Type = Choice.self
  ) throws(UsageError) -> Choice? {
    guard let text = value(option) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let names = Choice.allCases.map(\.rawValue)
    let listed = names.dropLast().map { "'\($0)'" }.joined(separator: ", ")
    throw wrong(
      "'--\(option)' takes \(listed) or '\(names.last ?? "")', not '\(text)'\(Suggestion.text(for: text, among: names))"
    )
  }

  func wrong(_ message: String) -> UsageError { UsageError(message: message, command: command) }
}
