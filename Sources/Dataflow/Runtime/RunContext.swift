import Bytes
import Synchronization

/// What the subtasks of one attempt to run a job share.
final class RunContext: Sendable {
  let job: Job
  let options: RunOptions
  let checkpoints: CheckpointStore
  let recovered: RecoveredJob
  let coordinator: EpochCoordinator
  let bells: [Doorbell]
  /// One per node and subtask.
  let counters: [[OperatorCounters]]
  /// The partitions of each source: where they begin and, in a bounded run, end; by node.
  let partitions: [NodeID: [PartitionProgress.Partition]]
  /// Where the partitions of each source stand; by node.
  let boards: [NodeID: SourceBoard]
  /// The groups of sources that stay close to each other, by name.
  let alignments: [String: AlignmentGroup]
  let regions: (of: [Int], count: Int)
  /// The channels of exchanges, made by the first subtask that asks; by node.
  private let channels = Mutex<[NodeID: any Sendable]>([:])

  var parallelism: Int { options.parallelism }

  /// - Parameter ends: where a bounded run ends, by source name; nil asks the sources now.
  init(
    _ job: Job, _ options: RunOptions, _ checkpoints: CheckpointStore, _ recovered: RecoveredJob,
    ends: [String: [Int64]]
  ) throws {
    self.job = job
    self.options = options
    self.checkpoints = checkpoints
    self.recovered = recovered
    bells = (0..<options.parallelism).map { _ in Doorbell() }
    coordinator = EpochCoordinator(
      job: job, checkpoints: checkpoints, options: options, epoch: recovered.record.epoch, bells: bells)
    counters = job.graph.nodes.map { _ in (0..<options.parallelism).map { _ in OperatorCounters() } }
    regions = job.graph.regions(parallelism: options.parallelism)
    var partitions: [NodeID: [PartitionProgress.Partition]] = [:]
    for source in job.graph.sources {
      partitions[source.node] = try Self.partitions(
        of: source, recovered.record.sources[source.name] ?? [], ends: ends[source.name], now: options.clock.now)
    }
    self.partitions = partitions
    var boards: [NodeID: SourceBoard] = [:]
    var alignments: [String: AlignmentGroup] = [:]
    for source in job.graph.sources {
      let own = partitions[source.node] ?? []
      boards[source.node] = SourceBoard(source.name, own, now: options.clock.now)
      guard let alignment = source.alignment else { continue }
      let group = alignments[alignment.group] ?? AlignmentGroup(bells: bells)
      alignments[alignment.group] = group
      for partition in own where !partition.isEnded && !partition.watermark.isIdle {
        group.add(.init(node: source.node, partition: partition.index), at: partition.watermark.time)
      }
    }
    self.boards = boards
    self.alignments = alignments
  }

  /// Where event time stands now, and why.
  var watermarkReport: WatermarkReport {
    let (now, time) = (options.clock.now, options.clock.time)
    return WatermarkReport(
      job.graph.sources.flatMap { boards[$0.node]?.snapshot(now: now, time: time) ?? [] },
      endIsFinal: options.mode.kind == .drain)
  }

  private static func partitions(
    of source: any SourceNode, _ recorded: [JobRecord.Partition], ends: [Int64]?, now: Int64
  ) throws -> [PartitionProgress.Partition] {
    let count = try source.partitionCount()
    guard count >= recorded.count else {
      throw DataflowError(
        .sourceChanged, source.name,
        "the store holds positions of \(recorded.count) partitions, the source has \(count): a source never loses one")
    }
    let starts = recorded.count < count ? try source.startPositions() : []
    return (0..<count).map { index in
      let known = index < recorded.count ? recorded[index] : nil
      return PartitionProgress.Partition(
        index: index, position: known?.position ?? (index < starts.count ? starts[index] : 0),
        end: ends.map { index < $0.count ? $0[index] : 0 },
        watermark: Watermark(known?.watermark ?? .min, isIdle: known?.isIdle ?? false), lastActivity: now)
    }
  }

  /// The channels of exchange `node`, from the first index to the second.
  func channels<Element: Sendable>(of node: NodeID, _: Element.Type) -> [[Channel<Element>]] {
    channels.withLock { made in
      if let found = made[node] as? [[Channel<Element>]] { return found }
      let limit = options.queueLimit
      let fresh = bells.map { producer in
        bells.map { consumer in Channel<Element>(limit: limit, producer: producer, consumer: consumer) }
      }
      made[node] = fresh
      return fresh
    }
  }

  /// The figures of every operator.
  var operatorMetrics: [OperatorMetrics] {
    job.graph.nodes.map { node in
      var total = counters[node.id][0].snapshot(node.label, kind: node.description.kind)
      for other in counters[node.id].dropFirst() { total.add(other.snapshot(node.label, kind: "")) }
      return total
    }
  }
}
