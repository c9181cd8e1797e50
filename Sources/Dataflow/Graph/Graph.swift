/// A checked flow, immutable: what a job is made of.
struct Graph: Sendable {
  /// In an order in which every node comes after its inputs.
  let nodes: [Node]
  /// The sources whose records' own keys are wanted.
  let keyDemand: Set<NodeID>

  init(job: String, _ flow: Flow) throws {
    nodes = flow.nodes
    keyDemand = flow.keyDemand
    if let mistake = flow.mistakes.first { throw mistake }
    for (name, side) in flow.sides.sorted(by: { $0.key < $1.key }) where !side.isRead {
      throw DataflowError(
        .noSink, name, "nobody reads this side output of job \(job); read it with flow.from, or do not write it")
    }
    try GraphValidation(job: job, nodes: nodes).check()
  }

  var sources: [any SourceNode] {
    nodes.compactMap { if case .source(let source) = $0.role { source } else { nil } }
  }
}

extension Graph {
  /// The alignment domains of a run: nodes of one region get a barrier at the same moment.
  ///
  /// Region 0 holds the sources and what is fused to them. With more than one subtask every exchange, and every union
  /// of streams of different regions, begins a region that aligns its inputs.
  func regions(parallelism: Int) -> (of: [Int], count: Int) {
    var regions: [Int] = []
    var count = 1
    for node in nodes {
      let inputs = Set(node.inputs.map { regions[$0] })
      switch node.role {
      case .source: regions.append(0)
      case .fused: regions.append(inputs.first ?? 0)
      case .exchange where parallelism == 1: regions.append(inputs.first ?? 0)
      case .merge where inputs.count <= 1: regions.append(inputs.first ?? 0)
      case .exchange, .merge:
        regions.append(count)
        count += 1
      }
    }
    return (regions, count)
  }
}
