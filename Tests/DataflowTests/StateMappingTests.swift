import Bytes
import Dataflow
import Testing

@Suite struct StateMappingTests {
  private let source = MemorySource<Int64>("numbers")
  private let sink = CollectSink<Int64>("out")

  private func run(_ store: TestStore, state: String, options: RunOptions = RunOptions(mode: .toEnd)) throws {
    let (source, sink) = (source, sink)
    let job = try Job("job") { flow in
      flow.from(source).keyed(by: { _ in Int64(0) }).fold(state, initial: Int64(0)) { $0 += $1 }.sink(sink)
    }
    var options = options
    options.mode = .toEnd
    try JobRunner(job, checkpoints: store.checkpoints, options: options).runBlocking()
  }

  @Test func aStateThatNobodyClaimsIsRefusedWithItsName() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    try run(store, state: "sum")
    #expect { try run(store, state: "total") } throws: {
      let error = $0 as? DataflowError
      return error?.code == .unmappedState && error?.subject == "sum"
    }
    // The refusal changed nothing.
    source.append(2, at: .at(0))
    try run(store, state: "sum")
    #expect(sink.committed == [1, 3])
  }

  @Test func aRenamedStateGoesOn() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    try run(store, state: "sum")
    source.append(2, at: .at(0))
    try run(store, state: "total", options: RunOptions(renaming: ["sum": "total"]))
    // The setting may stay in the program.
    source.append(3, at: .at(0))
    try run(store, state: "total", options: RunOptions(renaming: ["sum": "total"]))
    #expect(sink.committed == [1, 3, 6])
  }

  @Test func aDroppedStateBeginsAnew() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    try run(store, state: "sum")
    source.append(2, at: .at(0))
    try run(store, state: "total", options: RunOptions(dropping: ["sum"]))
    #expect(sink.committed == [1, 2])
    let states = try #require(try store.checkpoints.job("job")).states
    #expect(states.map(\.declaration.name) == ["total"])
  }

  @Test func renamingWhatIsNotThereIsRefused() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    try run(store, state: "sum")
    #expect { try run(store, state: "sum", options: RunOptions(renaming: ["other": "total"])) } throws: {
      ($0 as? DataflowError)?.code == .unknownState
    }
  }

  @Test func aStateNeverChangesItsKind() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    try run(store, state: "sum")
    let job = try Job("job") { [source] flow in
      _ = flow.from(source).keyed(by: { $0 }).window(.tumbling(.units(10)))
        .aggregate("sum", initial: Int64(0), { $0 += $1 }, result: { (_: Int64, _, sum) in sum })
    }
    #expect { try JobRunner(job, checkpoints: store.checkpoints).runBlocking() } throws: {
      ($0 as? DataflowError)?.code == .stateMismatch
    }
  }

  @Test func aSourceThatIsNoLongerReadIsRefusedUnlessDropped() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    try run(store, state: "sum")
    let other = MemorySource<Int64>("others")
    other.append(5, at: .at(0))
    let job = try Job("job") { [sink] flow in
      flow.from(other).keyed(by: { _ in Int64(0) }).fold("sum", initial: Int64(0)) { $0 += $1 }.sink(sink)
    }
    #expect { try JobRunner(job, checkpoints: store.checkpoints).runBlocking() } throws: {
      let error = $0 as? DataflowError
      return error?.code == .unknownSource && error?.subject == "numbers"
    }
    try JobRunner(
      job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, dropping: ["numbers"])
    ).runBlocking()
    #expect(sink.committed == [1, 6])
  }

  @Test func aSourceWithFewerPartitionsThanItHadIsRefused() throws {
    let store = try TestStore()
    let wide = MemorySource<Int64>("numbers", partitions: 3)
    let before = try Job("job") { flow in flow.from(wide).forEach("x") { _ in } }
    try JobRunner(before, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    let after = try Job("job") { [source] flow in flow.from(source).forEach("x") { _ in } }
    #expect { try JobRunner(after, checkpoints: store.checkpoints).runBlocking() } throws: {
      ($0 as? DataflowError)?.code == .sourceChanged
    }
  }
}
