import Bytes

/// Makes one subtask of a run out of the graph, from the sinks up: whoever sends finds its receiver made.
@usableFromInline
final class SubtaskBuilder {
  let run: RunContext
  let subtask: Int
  let snapshot: StateSnapshot
  /// By node: the receivers of those who read it.
  private var readers: [NodeID: [Any]] = [:]
  private(set) var regions: [Region]
  private(set) var sources: [any SourceDriver] = []
  private(set) var inlets: [(inlet: any Inlet, region: Int)] = []

  init(_ run: RunContext, subtask: Int) {
    self.run = run
    self.subtask = subtask
    snapshot = StateSnapshot(run.checkpoints.environment)
    regions = (0..<run.regions.count).map { _ in Region() }
  }

  /// Makes everything.
  func build() throws {
    for node in run.job.graph.nodes.reversed() {
      do {
        try node.build(self)
      } catch let error as DataflowError {
        throw error
      } catch {
        throw DataflowError(.operatorFailed, node.label, "could not be started in job \(run.job.name)", cause: error)
      }
    }
    // Made backwards; a barrier, and a batch, meet them forwards.
    for region in regions { region.sortForwards() }
    sources.reverse()
    inlets.reverse()
  }

  /// What takes the output of `node`: all that read it.
  func output<Element: Sendable>(of node: NodeID, as _: Element.Type) -> Receiver<Element> {
    let receivers = readers[node]?.compactMap { $0 as? Receiver<Element> } ?? []
    // Readers were made last first.
    return .fork(receivers.reversed())
  }

  func connect<Element: Sendable>(_ node: NodeID, to receiver: Receiver<Element>) {
    readers[node, default: []].append(receiver)
  }

  func counters(_ node: NodeID) -> OperatorCounters { run.counters[node][subtask] }

  func context(_ id: NodeID, ports: [OpenPort] = []) -> OperatorContext {
    let node = run.job.graph.nodes[id]
    let region = regions[run.regions.of[id]]
    let known = node.description.name.flatMap { run.recovered.record.watermarks[$0] } ?? .min
    let sides = ports.map { (name: $0.side.name, collector: $0.side.open(self, $0.node)) }
    return OperatorContext(
      name: node.label, builder: self, counters: counters(id), initialWatermark: known, times: region.times,
      sides: sides, register: { region.add($0, of: id) }, employ: { region.add($0) })
  }

  func addSource<S: Source>(
    _ node: NodeID, _ source: S, strategy: WatermarkStrategy,
    generator: (@Sendable () -> any WatermarkGenerator<S.Element>)?
  ) {
    let all = run.partitions[node] ?? []
    let own = all.filter { $0.index % run.parallelism == subtask }
    let bell = run.bells[subtask]
    let request = SourceRequest(
      partitions: own.map { .init(index: $0.index, start: $0.position, end: $0.end) },
      wantsKeys: run.job.graph.keyDemand.contains(node), wake: { bell.ring() })
    let alignment = strategy.alignment.flatMap { alignment in
      run.alignments[alignment.group].map {
        SourceAlignment($0, node, drift: alignment.maximumDrift, subtask: subtask)
      }
    }
    let time = SourceTime(
      strategy, PartitionProgress(own, strategy: strategy, endIsFinal: run.options.mode.kind == .drain),
      generator: generator, alignment: alignment, board: run.boards[node], clock: run.options.clock)
    sources.append(
      SourceRunner(source, request, time, output(of: node, as: S.Element.self), counters(node)))
  }

  func addExchange<Element: Sendable>(
    _ node: NodeID, after origin: NodeID, key: (@Sendable (inout Batch<Element>) throws -> Void)?,
    route: @escaping @Sendable (consuming Batch<Element>, ExchangeSender<Element>) -> Void
  ) {
    let output = output(of: node, as: Element.self)
    let context = context(node)
    let counters = counters(node)
    if run.parallelism == 1 {
      guard let key else {
        let receiver = Receiver<Element>(
          batch: { batch in
            counters.received(batch.count)
            try context.checkKeys(of: batch)
            try output.batch(batch)
          }, watermark: output.watermark)
        return connect(origin, to: receiver)
      }
      let receiver = Receiver<Element>(
        batch: { batch in
          var batch = batch
          counters.received(batch.count)
          do { try key(&batch) } catch { throw context.failure(error) }
          try output.batch(batch)
        }, watermark: output.watermark)
      return connect(origin, to: receiver)
    }
    let channels = run.channels(of: node, Element.self)
    inlets.append((ExchangeReceiver(channels.map { $0[subtask] }, output), run.regions.of[node]))
    let sender = ExchangeSender(
      channels[subtask], clock: run.options.clock, linger: run.options.linger.wholeMicroseconds)
    regions[run.regions.of[origin]].add(sender)
    let receiver = Receiver<Element>(
      batch: { batch in
        var batch = batch
        counters.received(batch.count)
        if let key {
          do { try key(&batch) } catch { throw context.failure(error) }
        } else {
          try context.checkKeys(of: batch)
        }
        route(batch, sender)
      }, watermark: { sender.watermark($0) })
    connect(origin, to: receiver)
  }

  func addMerge<Element: Sendable>(_ node: NodeID, _ origins: [NodeID], of _: Element.Type) {
    let output = output(of: node, as: Element.self)
    let region = run.regions.of[node]
    if origins.allSatisfy({ run.regions.of[$0] == region }) {
      let merge = Box(WatermarkMerge(count: origins.count))
      for (index, origin) in origins.enumerated() {
        let receiver = Receiver<Element>(
          batch: output.batch,
          watermark: { watermark in
            if let merged = merge.value.update(index, watermark) { try output.watermark(merged) }
          })
        connect(origin, to: receiver)
      }
      return
    }
    // Streams whose barriers come at different moments meet in queues of this subtask, to be aligned.
    let bell = run.bells[subtask]
    let channels = origins.map { _ in
      Channel<Element>(limit: run.options.queueLimit, producer: bell, consumer: bell)
    }
    inlets.append((ExchangeReceiver(channels, output), region))
    for (origin, channel) in zip(origins, channels) {
      let sender = ExchangeSender([channel], clock: run.options.clock, linger: 0)
      regions[run.regions.of[origin]].add(sender)
      connect(origin, to: Receiver<Element>(batch: { sender.forward($0) }, watermark: { sender.watermark($0) }))
    }
  }
}

/// A value shared by closures of one thread.
@usableFromInline
final class Box<Value> {
  @usableFromInline var value: Value
  @usableFromInline init(_ value: Value) { self.value = value }
}
