/// Splits bytes into the fields of CSV lines as RFC 4180 draws them, and refuses everything else.
///
/// A line ends with LF or CRLF; the last one need not. A field in quotes may hold commas, line ends and doubled quotes.
/// The scanner holds one line at a time: a file of any length is read in constant memory.
struct CSVScanner {
  /// Why a line cannot be read.
  enum Flaw: Error, Equatable {
    case quoteInsideField
    case textAfterQuote
    case unclosedQuote
    case bareCarriageReturn
  }

  /// Longer lines are taken for a file that is no CSV.
  static let longestLine = 1_048_576

  private let chunks: () throws(AdsError) -> [UInt8]?
  private var chunk: [UInt8] = []
  private var position = 0

  /// The fields of the current line, one behind the other, without their quotes.
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  private(set) var nextLine = 1
  /// Where the current line begins; it ends on a later one if a quoted field holds line ends.
  private(set) var line = 0

  init(chunks: @escaping () throws(AdsError) -> [UInt8]?) { self.chunks = chunks }

  var fieldCount: Int { ends.count }

  func field(_ index: Int) -> ArraySlice<UInt8> { bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }

  /// Moves to the next line; false at the end of the file.
  mutating func next(in file: String) throws(AdsError) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    guard var byte = try take() else { return false }
    line = nextLine
    while true {
      let end = try scanField(startingWith: byte, file)
      ends.append(bytes.count)
      if bytes.count > Self.longestLine { throw tooLong(file) }
      guard end == comma else {
        nextLine += 1
        return true
      }
      // Nothing behind a comma is an empty last field.
      byte = try take() ?? lineFeed
    }
  }

  /// Reads one field and returns what ended it: a comma or a line feed (which the end of the file counts as).
  private mutating func scanField(startingWith first: UInt8, _ file: String) throws(AdsError) -> UInt8 {
    if first == quote { return try scanQuoted(file) }
    var byte = first
    while byte != comma, byte != lineFeed {
      if byte == quote { throw flaw(.quoteInsideField, file) }
      if byte == carriageReturn { return try endAfterCarriageReturn(file) }
      bytes.append(byte)
      if bytes.count > Self.longestLine { throw tooLong(file) }
      guard let next = try take() else { return lineFeed }
      byte = next
    }
    return byte
  }

  private mutating func scanQuoted(_ file: String) throws(AdsError) -> UInt8 {
    while true {
      guard let byte = try take() else { throw flaw(.unclosedQuote, file) }
      guard byte == quote else {
        if byte == lineFeed { nextLine += 1 }
        bytes.append(byte)
        if bytes.count > Self.longestLine { throw tooLong(file) }
        continue
      }
      switch try take() {
      case quote: bytes.append(quote)
      case comma: return comma
      case lineFeed, nil: return lineFeed
      case carriageReturn: return try endAfterCarriageReturn(file)
      default: throw flaw(.textAfterQuote, file)
      }
    }
  }

  private mutating func endAfterCarriageReturn(_ file: String) throws(AdsError) -> UInt8 {
    guard try take() == lineFeed else { throw flaw(.bareCarriageReturn, file) }
    return lineFeed
  }

  private mutating func take() throws(AdsError) -> UInt8? {
    while position == chunk.count {
      guard let next = try chunks() else { return nil }
      chunk = next
      position = 0
    }
    defer { position += 1 }
    return chunk[position]
  }

  private func flaw(_ flaw: Flaw, _ file: String) -> AdsError {
    let (what, remedy) =
      switch flaw {
      case .quoteInsideField:
        ("a quote stands inside a field that does not begin with one", "Put the field in quotes and double the quote")
      case .textAfterQuote: ("text follows the closing quote of a field", "Double a quote that belongs to the text")
      case .unclosedQuote: ("the file ends inside a quoted field", "Close the quote that this line opens")
      case .bareCarriageReturn: ("a carriage return stands without its line feed", "End lines with LF or CRLF")
      }
    return AdsError(
      .badInput, what, at: .init(file: file, line: line, column: ends.count + 1), remedy: remedy, cause: flaw)
  }

  private func tooLong(_ file: String) -> AdsError {
    AdsError(
      .badInput, "the line is longer than \(Self.longestLine) bytes", at: .init(file: file, line: line),
      remedy: "Look for a quote that is never closed")
  }
}

private let comma = UInt8(ascii: ",")
private let quote = UInt8(ascii: "\"")
private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
