/// A typed name for records that leave an operator another way than its result: rejects, alerts, dead letters.
///
/// Operators are told where they are made which side outputs they have; `flow.from(sideOutput)` reads everything that
/// the operators made before sent there. One that is written and never read is refused when the job is built.
///
/// ```swift
/// let rejects = SideOutput<Line>("rejects")
/// let events = lines.expand("parse", into: Event.self, with: { $0.output(rejects) }) { line, rejects, events in
///   if let event = Event(line) { events.append(event) } else { rejects.emit(line) }
/// }
/// flow.from(rejects).sink(refused)
/// ```
public struct SideOutput<Element: Sendable>: Sendable, Hashable {
  /// Unique in a job among its side outputs.
  public let name: String

  public init(_ name: String) { self.name = name }
}

/// A side output whatever its records are, as the graph knows it.
public struct SidePort: Sendable {
  let name: String
  let type: ObjectIdentifier
  /// Makes the collector that one operator on one subtask fills for the readers of a node.
  let open: @Sendable (SubtaskBuilder, NodeID) -> any SideCollecting

  public init<Element: Sendable>(_ output: SideOutput<Element>) {
    name = output.name
    type = ObjectIdentifier(Element.self)
    open = { builder, node in SideCollector<Element>(builder.output(of: node, as: Element.self)) }
  }
}

/// What a flow knows of a side output: who writes it, and whether it was read.
struct SideRecord {
  let type: ObjectIdentifier
  var ports: [NodeID] = []
  var isRead = false
}

extension Flow {
  /// The records that the operators made so far send to `output`, with timestamps and keys.
  ///
  /// Refused, when the job is built: a side output that nobody writes, or that another operator writes later on.
  public func from<Element: Sendable>(_ output: SideOutput<Element>) -> Stream<Element> {
    let ports = read(SidePort(output)).map { Stream<Element>(flow: self, node: $0) }
    if ports.count == 1 { return ports[0] }
    return addMerge(ports)
  }
}
