import Millrace

/// The files of the data set: where they are and what is in them.
package struct DataSet: Sendable {
  /// The folder with the CSV files.
  package let folder: String

  package init(folder: String) { self.folder = folder }

  /// The folder of the project's own copy: as seen from the project's root, else from where this file was compiled.
  package static func standard(_ thisFile: String = #filePath) -> DataSet {
    let near = "examples/ads/Data"
    if (try? FileChunks(path: "\(near)/campaigns.csv")) != nil { return DataSet(folder: near) }
    let core = thisFile.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
    return DataSet(folder: core.dropLast().joined(separator: "/") + "/Data")
  }

  /// The first day of the month that the data set covers; what began earlier is announced then.
  package static let firstDay = Day(year: 2017, month: 5, day: 1)
  /// The last day of that month.
  package static let lastDay = Day(year: 2017, month: 5, day: 31)

  package func path(_ file: String) -> String { "\(folder)/\(file)" }

  /// One event per product that has a description, all at the month's first instant.
  package func inventory() throws(AdsError) -> [InventoryEvent] {
    var reader = try CSVReader(
      path: path("products.csv"), columns: ["product", "department", "brand", "category", "type"])
    var events: [InventoryEvent] = []
    while try reader.next() {
      events.append(
        InventoryEvent(
          product: try reader.integer(0), department: try reader.text(1), brand: try reader.text(2),
          category: try reader.text(3), type: try reader.text(4), at: Self.firstDay.start))
    }
    return events
  }

  /// Opens the purchases, which are sorted by time.
  package func purchases() throws(AdsError) -> PurchaseReader { try PurchaseReader(path: path("purchases.csv")) }
}

/// Reads purchases one by one; they must not go back in time.
package struct PurchaseReader {
  private var reader: CSVReader
  private var previous = Timestamp.min

  package init(path: String) throws(AdsError) {
    try self.init(CSVReader(path: path, columns: Self.columns))
  }

  package init(_ reader: CSVReader) { self.reader = reader }

  package static let columns = ["time_s", "basket", "household", "product", "quantity", "sales_value", "coupon_disc"]

  package mutating func next() throws(AdsError) -> PurchaseEvent? {
    guard try reader.next() else { return nil }
    let (microseconds, overflow) = try reader.integer(0).multipliedReportingOverflow(by: 1_000_000)
    let time = Timestamp(microseconds: microseconds)
    if overflow {
      throw AdsError(
        .badInput, "the time lies outside of what 64 bits of microseconds hold", at: reader.place(0),
        remedy: "Give seconds since 1970")
    }
    if time < previous {
      throw AdsError(
        .badInput, "the purchase lies before the one above it", at: reader.place(0), remedy: "Sort the file by time")
    }
    previous = time
    return PurchaseEvent(
      product: try reader.integer(3), household: try reader.integer(2), basket: try reader.integer(1),
      quantity: try reader.integer(4), salesCents: try reader.cents(5), couponCents: try reader.cents(6), at: time)
  }
}
