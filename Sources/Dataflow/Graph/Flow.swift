/// The builder of a job's graph: `Job("name") { flow in … }` describes it once; every run makes it anew from that.
///
/// Lives only inside that closure. Mistakes are collected and thrown when the closure returns.
public final class Flow {
  private(set) var nodes: [Node] = []
  /// The sources whose records' own keys are wanted.
  private(set) var keyDemand: Set<NodeID> = []
  private(set) var mistakes: [DataflowError] = []
  private(set) var sides: [String: SideRecord] = [:]
  var hiddenCount = 0

  init() {}

  /// The records of `source`. Its name must be unique in the job: positions are found by it.
  ///
  /// - Parameter watermarks: how event time is derived from the records' timestamps, partition by partition.
  public func from<S: Source>(
    _ source: S, watermarks: WatermarkStrategy = .boundedOutOfOrderness()
  ) -> Stream<S.Element> {
    addSource(source, watermarks, generator: nil)
  }

  /// The records of `source`, with watermarks that follow from the records themselves.
  public func from<S: Source>(_ source: S, watermarks: Watermarks<S.Element>) -> Stream<S.Element> {
    addSource(source, watermarks.strategy, generator: watermarks.makeGenerator)
  }

  private func addSource<S: Source>(
    _ source: S, _ strategy: WatermarkStrategy, generator: (@Sendable () -> any WatermarkGenerator<S.Element>)?
  ) -> Stream<S.Element> {
    let id = nodes.count
    nodes.append(
      Node(
        id: id, role: .source(TypedSourceNode(node: id, source: source, alignment: strategy.alignment)),
        description: OperatorDescription(kind: "source", name: source.name, keepsKeys: true), inputs: [],
        build: { builder in
          builder.addSource(id, source, strategy: strategy, generator: generator)
        }))
    return Stream(flow: self, node: id)
  }

  /// Adds an operator that works on the batches of `input` in place.
  ///
  /// `make` is called once per subtask and run, on the subtask's thread, with what takes the operator's output; it
  /// returns what takes its input. Written in `@inlinable` code it is specialised in the user's module.
  public func addOperator<Input: Sendable, Output: Sendable>(
    _ description: OperatorDescription, after input: Stream<Input>, as _: Output.Type = Output.self,
    _ make: @escaping @Sendable (OperatorContext, Receiver<Output>) throws -> Receiver<Input>
  ) -> Stream<Output> {
    let id = nodes.count
    let origin = check(input)
    let ports = ports(description.sides, from: id + 1)
    nodes.append(
      Node(
        id: id, role: .fused, description: description, inputs: [origin],
        build: { builder in
          let context = builder.context(id, ports: ports)
          let receiver = try make(context, builder.output(of: id, as: Output.self))
          builder.connect(origin, to: context.withSides(receiver))
        }))
    addPorts(ports, of: id)
    return Stream(flow: self, node: id)
  }

  /// As `addOperator`, with a second output for what does not go the ordinary way. Nobody need read that one.
  public func addOperator<Input: Sendable, Output: Sendable, Side: Sendable>(
    _ description: OperatorDescription, after input: Stream<Input>, as _: Output.Type = Output.self,
    side _: Side.Type,
    _ make: @escaping @Sendable (OperatorContext, Receiver<Output>, Receiver<Side>) throws -> Receiver<Input>
  ) -> (Stream<Output>, Stream<Side>) {
    let id = nodes.count
    let origin = check(input)
    let ports = ports(description.sides, from: id + 2)
    nodes.append(
      Node(
        id: id, role: .fused, description: description, inputs: [origin],
        build: { builder in
          let context = builder.context(id, ports: ports)
          let receiver = try make(
            context, builder.output(of: id, as: Output.self), builder.output(of: id + 1, as: Side.self))
          builder.connect(origin, to: context.withSides(receiver))
        }))
    addPort(of: id)
    addPorts(ports, of: id)
    return (Stream(flow: self, node: id), Stream(flow: self, node: id + 1))
  }

  /// Adds the node that stands for an output of operator `id` besides its result: what reads it finds it by that.
  @discardableResult
  private func addPort(of id: NodeID) -> NodeID {
    let port = nodes.count
    let description = OperatorDescription(
      kind: "side", keepsKeys: nodes[id].description.keepsKeys, isTerminal: true)
    nodes.append(Node(id: port, role: .fused, description: description, inputs: [id], build: { _ in }))
    return port
  }

  /// The nodes of an operator's side outputs, each once, numbered from `first` on.
  private func ports(_ sides: [SidePort], from first: NodeID) -> [OpenPort] {
    var ports: [OpenPort] = []
    for side in sides where !ports.contains(where: { $0.side.name == side.name && $0.side.type == side.type }) {
      ports.append(OpenPort(side: side, node: first + ports.count))
    }
    return ports
  }

  private func addPorts(_ ports: [OpenPort], of id: NodeID) {
    for port in ports {
      let node = addPort(of: id)
      let name = port.side.name
      var record = sides[name] ?? SideRecord(type: port.side.type)
      if record.type != port.side.type { refuse(Self.sideMismatch(name)) }
      if record.isRead {
        refuse(
          DataflowError(
            .noSink, name,
            "\(nodes[id].label) writes this side output, which was read before; read it after all that write it"))
      }
      record.ports.append(node)
      sides[name] = record
    }
  }

  /// The nodes whose records make up a side output; it is read from now on.
  func read(_ side: SidePort) -> [NodeID] {
    guard var record = sides[side.name] else {
      refuse(
        DataflowError(
          .noSource, side.name, "no operator made so far writes this side output; read it after those that do"))
      return []
    }
    if record.type != side.type {
      refuse(Self.sideMismatch(side.name))
      return []
    }
    record.isRead = true
    sides[side.name] = record
    return record.ports
  }

  private static func sideMismatch(_ name: String) -> DataflowError {
    DataflowError(.duplicateName, name, "two side outputs with records of different types are called so")
  }

  /// Adds an exchange: `key` gives each batch of `input` its keys, then each record goes to its key's subtask.
  @usableFromInline
  func addExchange<Element: Sendable>(
    _ description: OperatorDescription, after input: Stream<Element>,
    key: (@Sendable (inout Batch<Element>) throws -> Void)?,
    route: @escaping @Sendable (consuming Batch<Element>, ExchangeSender<Element>) -> Void
  ) -> KeyedStream<Element> {
    let id = nodes.count
    let origin = check(input)
    if key == nil { demandKeys(of: origin) }
    nodes.append(
      Node(
        id: id, role: .exchange, description: description, inputs: [origin],
        build: { builder in
          builder.addExchange(id, after: origin, key: key, route: route)
        }))
    return KeyedStream(flow: self, node: id)
  }

  /// Adds the union of `inputs`.
  func addMerge<Element: Sendable>(_ inputs: [Stream<Element>]) -> Stream<Element> {
    let id = nodes.count
    let origins = inputs.map { check($0) }
    nodes.append(
      Node(
        id: id, role: .merge, description: OperatorDescription(kind: "union", keepsKeys: true), inputs: origins,
        build: { builder in builder.addMerge(id, origins, of: Element.self) }))
    return Stream(flow: self, node: id)
  }

  /// Notes a mistake that is thrown when the job's closure returns.
  public func refuse(_ error: DataflowError) { mistakes.append(error) }

  private func check<Element: Sendable>(_ stream: Stream<Element>) -> NodeID {
    if stream.flow !== self {
      refuse(DataflowError(.foreignStream, "flow", "a stream of another flow is used; build it inside this job"))
      // Any node will do: the job is refused.
      return 0
    }
    return stream.node
  }

  /// The keys of records are decoded only where somebody upstream of `keyed()` can pass them on.
  private func demandKeys(of node: NodeID) {
    guard node < nodes.count else { return }
    if case .source = nodes[node].role { keyDemand.insert(node) }
    if case .exchange = nodes[node].role { return }
    if !nodes[node].description.keepsKeys {
      let culprit = nodes[node].label
      refuse(
        DataflowError(
          .notKeyed, culprit, "its records carry no key, so keyed() cannot follow; use keyed(by:) instead"))
      return
    }
    for input in nodes[node].inputs { demandKeys(of: input) }
  }
}

extension Node {
  /// The operator's name, or its kind and number.
  var label: String { description.name ?? "\(description.kind)#\(id)" }
}
