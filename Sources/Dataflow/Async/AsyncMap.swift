public import Records

extension Stream where Element: Record {
  /// Each record turned into another by a call that may wait, as for a service: up to `options.capacity` at once on
  /// each subtask, on the concurrency pool. Timestamps and keys stay.
  ///
  /// Exactly once as far as the store goes: a record that is under way at a checkpoint is part of it, and is called for
  /// again after a crash, so calls may be repeated, results are not. A run to its sources' ends waits for what is under
  /// way; one that is stopped leaves it to the next run. No watermark overtakes a record. When the run ends calls are
  /// cancelled and not waited for.
  ///
  /// A job with such calls is not replayable: with `.unordered`, and between subtasks, results come in no fixed order.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store: the records under way.
  ///   - onError: what becomes of a record whose last attempt failed or took too long.
  public func asyncMap<Output: Sendable>(
    _ name: String, _ options: AsyncOptions = AsyncOptions(), onError: ErrorPolicy = .fail,
    _ body: @escaping @Sendable (Element) async throws -> Output
  ) -> Stream<Output> {
    if options.capacity < 1 || options.attempts < 1 || (options.timeout ?? .seconds(1)) <= .zero {
      flow.refuse(
        DataflowError(.invalidArgument, name, "capacity, attempts and timeout of asyncMap must be positive"))
    }
    let description = OperatorDescription(
      kind: "asyncMap", name: name, keepsKeys: true, states: [StateDeclaration(name, .pending)], sides: onError.sides)
    return flow.addOperator(description, after: self, as: Output.self) { context, output in
      let mapper = try AsyncMapper(
        context, options, onError, output, try context.stateTable(name, of: Element.self), chance: context.chance, body)
      context.join(mapper as any CheckpointParticipant)
      context.join(mapper as any RegionWorker)
      return Receiver(batch: { try mapper.take($0) }, watermark: { try mapper.take($0) })
    }
  }
}
