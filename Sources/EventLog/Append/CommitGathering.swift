import Glibc
import Synchronization

/// Decides how long the writer waits after a commit for those whom it has just resumed.
///
/// Appenders that await each append come in a closed loop: resumed by one commit, they append again some microseconds
/// later. A writer that went on at once with the few that came meanwhile would split them into two halves that take
/// turns, each waiting for the other's sync; and one that went to sleep would have to be woken, which costs as much as
/// a third of a sync. So it looks out for them: until all are back, or nobody has come for a moment. Where they do not
/// come back it learns to not wait.
struct CommitGathering {
  /// How long to wait for the first, which has to be woken, in nanoseconds.
  private static let firstWait = 80_000
  /// How long to wait for one more.
  private static let nextWait = 20_000
  private static let longestWait = 200_000

  private var misses = 0
  private var skips = 0

  /// Waits for the `resumed` appenders whom a commit has resumed; `before`: how many had arrived when it had not yet.
  mutating func wait(for resumed: Int, after before: Int, _ arrivals: borrowing Atomic<Int>) {
    if resumed == 0 { return }
    if skips > 0 {
      skips -= 1
      return
    }
    var seen = arrivals.load(ordering: .relaxed)
    let target = before + resumed
    let start = Self.now()
    var limit = start + Self.firstWait
    while true {
      sched_yield()
      let count = arrivals.load(ordering: .relaxed)
      if count >= target { break }
      let now = Self.now()
      if count != seen {
        seen = count
        limit = min(now + Self.nextWait, start + Self.longestWait)
      }
      if now >= limit { break }
    }
    learn(arrivals.load(ordering: .relaxed) - before, of: resumed)
  }

  /// Waits less often, down to after every 64th commit, the more often fewer than a quarter came back.
  private mutating func learn(_ returned: Int, of resumed: Int) {
    if returned * 4 >= resumed {
      misses = 0
    } else {
      misses = min(misses + 1, 6)
      skips = (1 << misses) - 1
    }
  }

  private static func now() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
