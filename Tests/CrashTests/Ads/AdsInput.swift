import AdsCore
import CrashSupport
import Foundation

/// A part of the ads example's data in a folder of its own, small enough to be worked through many times.
struct AdsInput {
  let folder: String

  /// - Parameters:
  ///   - modulus: of the purchases those of every so manieth product are taken,
  ///   - purchases: so many at most, from the month's first on; and of products, offers and targets what they name.
  ///   - onlyPromoted: and only such as are attributed to a campaign that runs when the month begins.
  init(_ folder: String, modulus: Int, purchases limit: Int, onlyPromoted: Bool = false) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let listing = try onlyPromoted ? campaigns(by: "offers.csv") : [:]
    let targeting = try onlyPromoted ? campaigns(by: "targets.csv") : [:]
    var households: Set<Int> = []
    var products: Set<Int> = []
    try copy("purchases.csv") { line, count in
      guard count < limit, let product = line.number(3), product % modulus == 0, let household = line.number(2),
        !onlyPromoted || !listing[product, default: []].isDisjoint(with: targeting[household, default: []])
      else { return false }
      households.insert(household)
      products.insert(product)
      return true
    }
    try copy("products.csv") { line, _ in line.number(0).map(products.contains) ?? false }
    try copy("offers.csv") { line, _ in line.number(1).map(products.contains) ?? false }
    try copy("targets.csv") { line, _ in line.number(1).map(households.contains) ?? false }
    try copy("campaigns.csv") { _, _ in true }
  }

  private static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../examples/ads/Data").standardized

  /// The campaigns that a file names beside each product or household, of those that the month begins with.
  private func campaigns(by file: String) throws -> [Int: Set<Int>] {
    var running: Set<Int> = []
    try copy("campaigns.csv") { line, _ in
      let fields = String(decoding: line.bytes, as: UTF8.self).split(separator: ",")
      if fields.count > 2, fields[2] <= "2017-05-01", let campaign = line.number(0) { running.insert(campaign) }
      return false
    }
    var campaigns: [Int: Set<Int>] = [:]
    try copy(file) { line, _ in
      if let campaign = line.number(0), running.contains(campaign), let other = line.number(1) {
        campaigns[other, default: []].insert(campaign)
      }
      return false
    }
    return campaigns
  }

  /// Copies the title and the lines that `isTaken`, which is told how many were before.
  private func copy(_ file: String, where isTaken: (Line, Int) -> Bool) throws {
    let data = try Data(contentsOf: Self.source.appendingPathComponent(file))
    var taken: [UInt8] = []
    data.withUnsafeBytes { bytes in
      var start = 0
      var count = -1
      while start < bytes.count, let base = bytes.baseAddress {
        let end = memchr(base + start, 10, bytes.count - start).map { $0 - UnsafeMutableRawPointer(mutating: base) + 1 }
        let line = UnsafeRawBufferPointer(rebasing: bytes[start..<(end ?? bytes.count)])
        if count < 0 || isTaken(Line(bytes: line), count) {
          taken.append(contentsOf: line)
          count += 1
        }
        start = end ?? bytes.count
      }
    }
    try Data(taken).write(to: URL(fileURLWithPath: folder + "/" + file))
  }

  private struct Line {
    let bytes: UnsafeRawBufferPointer

    /// The whole number in a column without quotes before it.
    func number(_ column: Int) -> Int? {
      var column = column
      var number: Int?
      for byte in bytes {
        switch byte {
        case UInt8(ascii: ","):
          if column == 0 { return number }
          column -= 1
        case UInt8(ascii: "0")...UInt8(ascii: "9") where column == 0:
          number = (number ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
        default: if column == 0 { return number }
        }
      }
      return number
    }
  }
}
