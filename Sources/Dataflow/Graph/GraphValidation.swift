/// The checks that a flow must pass before it becomes a job.
struct GraphValidation {
  let job: String
  let nodes: [Node]

  /// The longest name, in UTF-8 bytes: names are keys in the catalogue.
  static let longestName = 200

  func check() throws(DataflowError) {
    try checkName(job, of: "the job")
    guard nodes.contains(where: { if case .source = $0.role { true } else { false } }) else {
      throw DataflowError(.noSource, job, "the job reads nothing; start with flow.from(source)")
    }
    try checkNames()
    try checkStates()
    try checkEnds()
    try checkOwners()
  }

  private func checkName(_ name: String, of what: String) throws(DataflowError) {
    if name.isEmpty || name.utf8.count > Self.longestName || name.utf8.contains(0) {
      throw DataflowError(
        .invalidName, name, "the name of \(what) must have 1 to \(Self.longestName) bytes and no zero byte")
    }
  }

  private func checkNames() throws(DataflowError) {
    var seen: [String: String] = [:]
    for node in nodes {
      guard let name = node.description.name else { continue }
      try checkName(name, of: "a \(node.description.kind)")
      if let other = seen.updateValue(node.description.kind, forKey: name) {
        throw DataflowError(
          .duplicateName, name,
          "job \(job) uses the name for a \(other) and a \(node.description.kind); give each its own")
      }
    }
  }

  private func checkStates() throws(DataflowError) {
    var seen: Set<String> = []
    for node in nodes where !node.description.states.isEmpty {
      guard node.description.name != nil else {
        throw DataflowError(
          .invalidName, node.label, "an operator with state needs a name: its state is found by it")
      }
      for state in node.description.states where !seen.insert(state.name).inserted {
        throw DataflowError(.duplicateName, state.name, "job \(job) names two states so; give each its own")
      }
    }
  }

  private func checkEnds() throws(DataflowError) {
    var read: Set<NodeID> = []
    for node in nodes { read.formUnion(node.inputs) }
    for node in nodes where !node.description.isTerminal && !read.contains(node.id) {
      throw DataflowError(
        .noSink, node.label, "its output goes nowhere in job \(job); end it with a sink or a named state, or remove it")
    }
  }

  private func checkOwners() throws(DataflowError) {
    var seen: [String: String] = [:]
    for node in nodes {
      for resource in node.description.owned {
        if let other = seen.updateValue(node.label, forKey: resource) {
          throw DataflowError(
            .duplicateOwner, resource, "both \(other) and \(node.label) of job \(job) write it; only one may")
        }
      }
    }
  }
}
