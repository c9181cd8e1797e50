import Millrace
import Synchronization

/// Counts and sums what a job sends, a batch at a time: the end of a benchmark's pipeline, so that results are made and
/// passed on as in a real job.
final class CountSink: Sink {
  typealias Element = Int64
  let name = "count"
  let count = Atomic<Int>(0)
  let sum = Atomic<Int64>(0)

  func open(_ context: OperatorContext) throws -> Writer { Writer(self) }

  final class Writer: SinkWriter {
    typealias Element = Int64
    private let sink: CountSink

    init(_ sink: CountSink) { self.sink = sink }

    func write(_ batch: consuming Batch<Int64>) throws {
      var sum: Int64 = 0
      for index in 0..<batch.count { sum &+= batch[index] }
      sink.count.wrappingAdd(batch.count, ordering: .relaxed)
      sink.sum.wrappingAdd(sum, ordering: .relaxed)
    }
  }
}
