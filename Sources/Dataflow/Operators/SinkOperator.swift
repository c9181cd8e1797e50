extension Stream {
  /// Sends the records to `sink`.
  public func sink<S: Sink>(_ sink: S) where S.Element == Element {
    let description = OperatorDescription(
      kind: "sink", name: sink.name, isTerminal: true, owned: sink.ownedResources)
    _ = flow.addOperator(description, after: self, as: Never.self) { context, _ in
      let writer: S.Writer
      do { writer = try sink.open(context) } catch {
        throw DataflowError.sink(context.name, "cannot be opened", error)
      }
      context.join(SinkParticipant(writer, name: context.name))
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          do { try writer.write(batch) } catch { throw DataflowError.sink(context.name, "cannot be written", error) }
        },
        watermark: { context.counters.watermark($0.time) })
    }
  }

  /// Calls `body` with each record, for its effects: exactly-once is the store's, not theirs. After a crash records
  /// since the last checkpoint are seen again.
  @inlinable
  public func forEach(
    _ name: String, onError: ErrorPolicy = .fail, _ body: @escaping @Sendable (Element) throws -> Void
  ) {
    let description = OperatorDescription(kind: "forEach", name: name, isTerminal: true, sides: onError.sides)
    _ = flow.addOperator(description, after: self, as: Never.self) { context, _ in
      Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          for index in 0..<batch.count {
            do { try body(batch[index]) } catch { try onError.handle(error, context, batch, index) }
          }
        }, watermark: { context.counters.watermark($0.time) })
    }
  }
}

extension KeyedStream {
  /// Sends the records, with their keys, to `sink`.
  public func sink<S: Sink>(_ sink: S) where S.Element == Element { stream.sink(sink) }
}

/// A sink's writer as a part of checkpoints.
private final class SinkParticipant<Writer: SinkWriter>: CheckpointParticipant {
  private let writer: Writer
  private let name: String

  init(_ writer: Writer, name: String) {
    self.writer = writer
    self.name = name
  }

  func seal(epoch: UInt64) throws -> [any SealedPart] {
    do { return try writer.seal(epoch: epoch) } catch { throw DataflowError.sink(name, "cannot be sealed", error) }
  }

  func committed(epoch: UInt64) throws { try writer.committed(epoch: epoch) }
  func close() { writer.close() }
}

extension DataflowError {
  /// A sink's error with the sink's name; one that is ours already stays as it is.
  static func sink(_ name: String, _ what: String, _ error: any Error) -> DataflowError {
    if let error = error as? DataflowError { return error }
    return DataflowError(.sinkFailed, name, what, cause: error)
  }
}
