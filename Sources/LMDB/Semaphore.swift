import Glibc

/// A counting semaphore for plain threads.
///
/// Not one of POSIX: those measure a timeout by the system's date, and setting that back would make a wait endless.
@safe
public final class Semaphore: Sendable {
  @unsafe private struct Storage {
    var mutex = unsafe pthread_mutex_t()
    var condition = pthread_cond_t()
    var count: Int
  }

  // Invariant: initialised once, destroyed with the object; `count` is touched under the mutex only.
  nonisolated(unsafe) private let storage: UnsafeMutablePointer<Storage>

  public init(value: Int = 0) {
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(to: Storage(count: value))
    unsafe pthread_mutex_init(&storage.pointee.mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(&storage.pointee.condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(&storage.pointee.condition)
    unsafe pthread_mutex_destroy(&storage.pointee.mutex)
    unsafe storage.deinitialize(count: 1)
    unsafe storage.deallocate()
  }

  public func signal() {
    unsafe pthread_mutex_lock(&storage.pointee.mutex)
    unsafe storage.pointee.count += 1
    unsafe pthread_mutex_unlock(&storage.pointee.mutex)
    // After unlocking: who is woken does not wait for the mutex. The caller's reference keeps the storage meanwhile.
    unsafe pthread_cond_signal(&storage.pointee.condition)
  }

  /// Waits for a signal.
  public func wait() {
    unsafe pthread_mutex_lock(&storage.pointee.mutex)
    while unsafe storage.pointee.count == 0 {
      unsafe pthread_cond_wait(&storage.pointee.condition, &storage.pointee.mutex)
    }
    unsafe storage.pointee.count -= 1
    unsafe pthread_mutex_unlock(&storage.pointee.mutex)
  }

  /// Waits for a signal, no longer than `milliseconds`; returns whether there was one.
  public func wait(milliseconds: Int) -> Bool {
    let (nanoseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    return wait(nanoseconds: overflow ? .max : nanoseconds)
  }

  /// Waits for a signal, no longer than `nanoseconds`; returns whether there was one.
  public func wait(nanoseconds: Int) -> Bool {
    let nanoseconds = max(0, nanoseconds)
    var deadline = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &deadline)
    let fraction = deadline.tv_nsec + nanoseconds % 1_000_000_000
    deadline.tv_sec += nanoseconds / 1_000_000_000 + fraction / 1_000_000_000
    deadline.tv_nsec = fraction % 1_000_000_000
    unsafe pthread_mutex_lock(&storage.pointee.mutex)
    defer { unsafe pthread_mutex_unlock(&storage.pointee.mutex) }
    while unsafe storage.pointee.count == 0 {
      let code = unsafe pthread_cond_timedwait(&storage.pointee.condition, &storage.pointee.mutex, &deadline)
      if code != 0, unsafe storage.pointee.count == 0 { return false }
    }
    unsafe storage.pointee.count -= 1
    return true
  }
}
