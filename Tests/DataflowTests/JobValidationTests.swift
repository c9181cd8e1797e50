import Bytes
import Dataflow
import Testing

@Suite struct JobValidationTests {
  private let source = MemorySource<Int64>("numbers")

  private func refusal(_ body: (Flow) -> Void) -> DataflowError? {
    do {
      _ = try Job("job", body)
      return nil
    } catch { return error as? DataflowError }
  }

  @Test func aStreamWithoutASinkIsRefusedByName() {
    let error = refusal { flow in _ = flow.from(source).map("double") { $0 * 2 } }
    #expect(error?.code == .noSink)
    #expect(error?.subject == "double")
  }

  @Test func aNameUsedTwiceIsRefused() {
    let error = refusal { flow in
      let keyed = flow.from(source).keyed(by: { $0 })
      _ = keyed.fold("sum", initial: Int64(0)) { $0 += $1 }
      _ = keyed.fold("sum", initial: Int64(0)) { $0 += $1 }
    }
    #expect(error?.code == .duplicateName)
    #expect(error?.subject == "sum")
  }

  @Test func aSourceReadTwiceUnderOneNameIsRefused() {
    let sink = CollectSink<Int64>("out")
    let error = refusal { flow in flow.from(source).union(flow.from(source)).sink(sink) }
    #expect(error?.code == .duplicateName)
  }

  @Test(arguments: ["", String(repeating: "n", count: 201), "a\0b"]) func badNamesAreRefused(name: String) {
    let error = refusal { flow in _ = flow.from(source).keyed(by: { $0 }).fold(name, initial: Int64(0)) { $0 += $1 } }
    #expect(error?.code == .invalidName)
    #expect(throws: DataflowError.self) { try Job(name) { flow in flow.from(source).forEach("x") { _ in } } }
  }

  @Test func twoWritersOfOneResourceAreRefused() {
    let error = refusal { flow in
      let numbers = flow.from(source)
      numbers.sink(CollectSink("one", owning: ["view:products/bid"]))
      numbers.sink(CollectSink("two", owning: ["view:products/bid"]))
    }
    #expect(error?.code == .duplicateOwner)
    #expect(error?.subject == "view:products/bid")
  }

  @Test func aJobWithoutASourceIsRefused() { #expect(refusal { _ in }?.code == .noSource) }

  @Test func aStreamOfAnotherFlowIsRefused() throws {
    var stolen: Dataflow.Stream<Int64>?
    _ = try Job("first") { flow in
      stolen = flow.from(source)
      stolen?.forEach("x") { _ in }
    }
    let foreign = try #require(stolen)
    let error = refusal { flow in
      flow.from(MemorySource<Int64>("other")).forEach("y") { _ in }
      foreign.union(foreign).forEach("z") { _ in }
      _ = flow.from(MemorySource<Int64>("third")).union(foreign)
    }
    #expect(error?.code == .foreignStream)
  }

  @Test func aJobTellsWhatItReadsAndOwns() throws {
    let job = try Job("job") { flow in
      flow.from(source).sink(CollectSink("one", owning: ["view:a"]))
      _ = flow.from(MemorySource<Int64>("more")).keyed(by: { $0 }).fold("sum", initial: Int64(0)) { $0 += $1 }
    }
    #expect(job.sourceNames == ["numbers", "more"])
    #expect(job.ownedResources == ["view:a"])
    #expect(job.states.map(\.name) == ["sum"])
  }

  @Test func optionsOutOfRangeAreRefused() throws {
    let store = try TestStore()
    let job = try Job("job") { flow in flow.from(source).forEach("x") { _ in } }
    for parallelism in [0, -1, 129] {
      let runner = JobRunner(
        job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, parallelism: parallelism))
      #expect(throws: DataflowError.self) { try runner.runBlocking() }
    }
  }
}
