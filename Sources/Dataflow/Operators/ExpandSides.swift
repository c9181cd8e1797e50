public import Bytes

/// The side outputs of an operator without state, declared where the operator is (see `OperatorParts`).
public final class OutputParts {
  @usableFromInline let parts: OperatorParts

  @usableFromInline
  init(_ parts: OperatorParts) { self.parts = parts }

  /// A way to a side output.
  public func output<Element: Sendable>(_ output: SideOutput<Element>) -> SideHandle<Element> { parts.output(output) }
}

extension Stream {
  /// Each record turned into what `body` appends for it, and what it sends to side outputs. If `body` throws, neither
  /// gets anything of it.
  ///
  /// - Parameters:
  ///   - name: for metrics and messages.
  ///   - outputs: declares the side outputs; its result is what `body` gets.
  @inlinable
  public func expand<Outputs, Output: Sendable>(
    _ name: String? = nil, into _: Output.Type = Output.self,
    with outputs: @escaping @Sendable (OutputParts) -> Outputs, onError: ErrorPolicy = .fail,
    _ body: @escaping @Sendable (borrowing Element, Outputs, inout Collector<Output>) throws -> Void
  ) -> Stream<Output> {
    let declared = OperatorParts(name ?? "expand", nil, isUndoable: false)
    _ = outputs(OutputParts(declared))
    let description = OperatorDescription(
      kind: "expand", name: name, keepsKeys: true, sides: declared.sides + onError.sides)
    return flow.addOperator(description, after: self, as: Output.self) { context, output in
      let own = OperatorParts(context.name, context, isUndoable: false)
      let sides = outputs(OutputParts(own))
      try own.check()
      return Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          let isKeyed = batch.isKeyed
          var collector = Collector<Output>(capacity: count, keys: isKeyed ? count : 0)
          try own.pointing(at: batch.keys) {
            for index in 0..<count {
              let time = batch.timestamp(index)
              own.cursor.begin(index, at: time)
              let first = collector.begin(at: time)
              do {
                try body(batch[index], sides, &collector)
                if isKeyed { collector.takeKey(of: batch.keys, at: index, from: first) }
              } catch {
                collector.undo(to: first)
                own.undo()
                try onError.handle(error, context, batch, index)
              }
            }
          }
          let result = collector.finish()
          context.counters.emitted(result.count)
          if !result.isEmpty { try output.batch(result) }
        }, watermark: output.watermark)
    }
  }
}

extension OperatorParts {
  /// Runs `body` with the cursor on `keys`.
  @inlinable
  func pointing(at keys: borrowing KeyColumn, _ body: () throws -> Void) throws {
    try unsafe withUnsafePointer(to: keys) { column in
      unsafe cursor.keys = column
      defer { unsafe cursor.keys = nil }
      try body()
    }
  }
}
