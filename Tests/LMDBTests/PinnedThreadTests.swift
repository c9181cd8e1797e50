import LMDB
import Synchronization
import Testing

@Suite struct PinnedThreadTests {
  private struct Refused: Error {}

  @Test func workRunsInOrderWhoeverGivesIt() throws {
    let thread = PinnedThread(name: "test")
    let seen = Mutex<[Int: [Int]]>([:])
    let given = Semaphore()
    for giver in 0..<4 {
      OSThread.start(name: "giver") {
        for number in 0..<500 { thread.async { seen.withLock { $0[giver, default: []].append(number) } } }
        given.signal()
      }
    }
    for _ in 0..<4 { given.wait() }
    try thread.sync {}
    let order = seen.withLock { $0 }
    #expect(order == [0: Array(0..<500), 1: Array(0..<500), 2: Array(0..<500), 3: Array(0..<500)])
  }

  @Test func aWaiterGetsTheResultOrTheError() throws {
    let thread = PinnedThread(name: "test")
    #expect(try thread.sync { 7 } == 7)
    #expect(throws: Refused.self) { try thread.sync { throw Refused() } }
    #expect(try thread.sync { "goes on" } == "goes on")
  }

  @Test func waitingForItselfIsRefused() throws {
    let thread = PinnedThread(name: "test")
    let inner = try thread.sync { code { try thread.sync {} } }
    #expect(inner == .badHandle)
  }

  @Test func stoppingRunsWhatWasGivenAndTakesNoMore() throws {
    let thread = PinnedThread(name: "test")
    let count = Mutex(0)
    for _ in 0..<100 { thread.async { count.withLock { $0 += 1 } } }
    thread.stop()
    #expect(count.withLock { $0 } == 100)
    #expect(!thread.async {})
    #expect(code { try thread.sync {} } == .badHandle)
    thread.stop()
  }

  @Test func aThreadMayStopItself() throws {
    let thread = PinnedThread(name: "test")
    let stopped = Semaphore()
    thread.async {
      thread.stop()
      stopped.signal()
    }
    stopped.wait()
    thread.stop()
    #expect(!thread.async {})
  }

  @Test func aSemaphoreWaitsNoLongerThanTold() {
    let semaphore = Semaphore()
    #expect(!semaphore.wait(milliseconds: 0))
    #expect(!semaphore.wait(milliseconds: 5))
    semaphore.signal()
    #expect(semaphore.wait(milliseconds: 60_000))
  }
}
