/// A named graph of sources, operators and sinks, checked when it is built.
///
/// Cheap to pass around; running it is `JobRunner`'s business. Its name, and the names of its stateful operators, are
/// how a store finds the job's positions and state again.
public struct Job: Sendable {
  /// Unique in a store.
  public let name: String
  let graph: Graph

  /// Describes a job: `body` is called once, at once.
  ///
  /// - Throws: `DataflowError`: `duplicateName`, `invalidName`, `noSink`, `noSource`, `notKeyed`, `duplicateOwner`,
  ///   `foreignStream`, or what `body` throws.
  public init(_ name: String, _ body: (Flow) throws -> Void) throws {
    let flow = Flow()
    try body(flow)
    self.name = name
    self.graph = try Graph(job: name, flow)
  }

  /// What the job alone may write, as its operators and sinks declared.
  public var ownedResources: [String] { graph.nodes.flatMap(\.description.owned) }

  /// The names of the sources that it reads.
  public var sourceNames: [String] { graph.sources.map(\.name) }

  /// The states that it keeps in the store.
  public var states: [StateDeclaration] { graph.nodes.flatMap(\.description.states) }
}
