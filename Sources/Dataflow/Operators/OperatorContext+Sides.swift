/// A side output of one operator and the node that its readers read.
struct OpenPort: Sendable {
  let side: SidePort
  let node: NodeID
}

extension OperatorContext {
  /// The operator's collector of `output`.
  ///
  /// - Throws: `unknownState` if the operator's description does not list the output.
  @usableFromInline
  func collector<Element: Sendable>(of output: SideOutput<Element>) throws -> SideCollector<Element> {
    for side in sides where side.name == output.name {
      if let found = side.collector as? SideCollector<Element> { return found }
    }
    throw DataflowError(
      .invalidArgument, name, "it writes side output \(output.name), which its description does not list")
  }

  /// Sends a letter to a side output, outside of any call that could be undone.
  func send<Element: Sendable>(
    _ letter: DeadLetter<Element>, to output: SideOutput<DeadLetter<Element>>, _ keys: borrowing KeyColumn, _ index: Int
  ) throws {
    let collector = try collector(of: output)
    collector.append(letter, at: letter.timestamp, key: keys, index, call: 0)
  }

  /// Takes back what call `call` sent to any side output.
  @usableFromInline
  func undoSides(_ call: UInt64) { for side in sides { side.collector.undo(call) } }

  /// Passes on what side outputs gathered: before anything that must come after it, as a watermark or a barrier.
  @usableFromInline
  func flushSides() throws { for side in sides { try side.collector.flush() } }

  /// `receiver`, with the side outputs' records and watermarks following the operator's own.
  func withSides<Input: Sendable>(_ receiver: Receiver<Input>) -> Receiver<Input> {
    if sides.isEmpty { return receiver }
    return Receiver(
      isDiscarding: receiver.isDiscarding,
      batch: { [self] batch in
        try receiver.batch(batch)
        try flushSides()
      },
      watermark: { [self] watermark in
        try receiver.watermark(watermark)
        try flushSides()
        for side in sides { try side.collector.watermark(watermark) }
      })
  }
}
