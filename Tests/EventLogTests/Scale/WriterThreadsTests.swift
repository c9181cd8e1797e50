import LMDB
import Synchronization
import Testing

@testable import EventLog

@Suite struct WriterThreadsTests {
  @Test func jobsOfATopicRunOneByOneInOrderOnFewThreads() {
    let threads = WriterThreads()
    let workers = (0..<60).map { _ in SerialWorker(threads) }
    let seen = Mutex([[Int]](repeating: [], count: workers.count))
    let inside = (0..<workers.count).map { _ in Counter() }
    let most = Counter()
    for job in 0..<50 {
      for (number, worker) in workers.enumerated() {
        let counter = inside[number]
        #expect(
          worker.async {
            if counter.value.add(1, ordering: .relaxed).newValue != 1 {
              most.value.store(1_000_000, ordering: .relaxed)
            }
            seen.withLock { $0[number].append(job) }
            most.value.max(threads.count, ordering: .relaxed)
            counter.value.subtract(1, ordering: .relaxed)
          })
      }
    }
    for worker in workers { worker.stop() }
    #expect(seen.withLock { $0 } == Array(repeating: Array(0..<50), count: workers.count))
    #expect(most.value.load(ordering: .relaxed) <= WriterThreads.most)
    #expect(!workers[0].async {})
    threads.stop()
  }

  @Test func aTopicThatAlwaysHasSomethingToDoLeavesOthersTheirTurn() {
    let threads = WriterThreads()
    // More than there are threads, each giving itself the next job for ever.
    let busy = (0..<WriterThreads.most * 2).map { _ in SerialWorker(threads) }
    let isOver = Counter()
    @Sendable func again(_ worker: SerialWorker) {
      if isOver.value.load(ordering: .relaxed) == 0 { worker.async { again(worker) } }
    }
    for worker in busy { again(worker) }
    let other = SerialWorker(threads)
    let done = Semaphore()
    other.async { done.signal() }
    done.wait()
    isOver.value.store(1, ordering: .relaxed)
    for worker in busy + [other] { worker.stop() }
    threads.stop()
  }

  @Test func stoppingFromInsideAJobDoesNotWaitForItself() {
    let threads = WriterThreads()
    let worker = SerialWorker(threads)
    let done = Semaphore()
    worker.async {
      #expect(worker.isCurrent)
      worker.stop()
      done.signal()
    }
    done.wait()
    #expect(!worker.isCurrent)
    #expect(!worker.async {})
    threads.stop()
  }
}

private final class Counter: Sendable {
  let value = Atomic<Int>(0)
}
