/// Cuts a stream of bytes into lines, holding no more than one chunk and one line of at most `maximumBytes`.
struct LineReader {
  /// A line longer than the limit; it was passed over.
  struct TooLong: Error, Equatable {
    var limit: Int
  }

  private let maximumBytes: Int
  /// The next bytes; empty at the end.
  private let read: () throws -> [UInt8]
  private var chunk: ArraySlice<UInt8> = []
  private var isEnded = false

  init(maximumBytes: Int, read: @escaping () throws -> [UInt8]) {
    self.maximumBytes = maximumBytes
    self.read = read
  }

  /// Whether the next line may have to wait for input: nothing whole is at hand.
  var mustRead: Bool { !isEnded && !chunk.contains(0x0A) }

  /// The next line without its end ("\n" or "\r\n"); nil at the end. A last line needs no end. Throws `TooLong` for one
  /// line, and goes on behind it.
  mutating func next() throws -> [UInt8]? {
    var line: [UInt8] = []
    var isTooLong = false
    var hasBegun = false
    while true {
      if let end = chunk.firstIndex(of: 0x0A) {
        take(chunk[chunk.startIndex..<end], into: &line, &isTooLong)
        chunk = chunk[(end + 1)...]
        hasBegun = true
        break
      }
      if !chunk.isEmpty {
        hasBegun = true
        take(chunk, into: &line, &isTooLong)
        chunk = []
      }
      if isEnded { break }
      let more = try read()
      if more.isEmpty { isEnded = true } else { chunk = more[...] }
    }
    if !hasBegun { return nil }
    if !isTooLong, line.last == 0x0D { line.removeLast() }
    if isTooLong || line.count > maximumBytes { throw TooLong(limit: maximumBytes) }
    return line
  }

  private func take(_ bytes: ArraySlice<UInt8>, into line: inout [UInt8], _ isTooLong: inout Bool) {
    // One more for a carriage return.
    if isTooLong || line.count + bytes.count > maximumBytes + 1 {
      isTooLong = true
      line = []
    } else {
      line.append(contentsOf: bytes)
    }
  }
}
