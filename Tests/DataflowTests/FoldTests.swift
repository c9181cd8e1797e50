import Bytes
import Dataflow
import Testing

@Suite struct FoldTests {
  @Test func countsWordsAndKeepsThem() throws {
    let store = try TestStore()
    let source = MemorySource<String>("words")
    let sink = CollectSink<Int64>("out")
    let job = try Job("count") { flow in
      flow.from(source).flatMap { $0.split(separator: " ").map(String.init) }
        .keyed(by: { $0 })
        .fold("counts", initial: Int64(0)) { count, _ in count += 1 }
        .sink(sink)
    }
    source.append("a b a", at: .at(1))
    source.append("b a", at: .at(2))
    let outcome = try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(outcome == .stopped)
    #expect(sink.committed == [1, 1, 2, 2, 3])
    source.append("a", at: .at(3))
    try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(sink.committed == [1, 1, 2, 2, 3, 4])
  }
}
