/// A source as the runtime sees it, whatever its records are.
protocol SourceNode: Sendable {
  var node: NodeID { get }
  var name: String { get }
  var alignment: WatermarkAlignment? { get }
  func partitionCount() throws -> Int
  func startPositions() throws -> [Int64]
  func endPositions() throws -> [Int64]
  func ensureDurable(_ positions: [Int64]) throws
}

struct TypedSourceNode<S: Source>: SourceNode {
  let node: NodeID
  let source: S
  let alignment: WatermarkAlignment?

  var name: String { source.name }
  func partitionCount() throws -> Int { try attempt("count its partitions") { try source.partitionCount } }
  func startPositions() throws -> [Int64] { try attempt("find its start") { try source.startPositions() } }
  func endPositions() throws -> [Int64] { try attempt("find its end") { try source.endPositions() } }
  func ensureDurable(_ positions: [Int64]) throws {
    try attempt("make its records durable") { try source.ensureDurable(positions) }
  }

  private func attempt<R>(_ what: String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw DataflowError.source(name, "cannot \(what)", error) }
  }
}

extension DataflowError {
  /// A source's error with the source's name; one that is ours already stays as it is.
  static func source(_ name: String, _ what: String, _ error: any Error) -> DataflowError {
    if let error = error as? DataflowError { return error }
    return DataflowError(.sourceFailed, name, what, cause: error)
  }
}
