import CLMDB
import Glibc

/// A plain thread of the operating system, for code that blocks.
public enum OSThread {
  private final class Body {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// Runs `body` on a new detached thread of 8 MB stack.
  public static func start(name: String, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setstacksize(&attributes, 8 << 20)
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(Body(name: name, run: body)).toOpaque()
    let code = unsafe pthread_create(
      &thread, &attributes,
      { context in
        guard let context = unsafe context else { return nil }
        let body = unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        unsafe millrace_name_thread(body.name)
        body.run()
        return nil
      }, context)
    precondition(code == 0, "the system refuses another thread (error \(code)); raise the limit of threads")
  }
}

/// A counting semaphore for plain threads.
@safe
public final class Semaphore: Sendable {
  // Invariant: initialised once, destroyed with the object; POSIX semaphores are made for concurrent use.
  nonisolated(unsafe) private let pointer: UnsafeMutablePointer<sem_t>

  public init(value: Int = 0) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe sem_init(pointer, 0, UInt32(value))
  }

  deinit {
    unsafe sem_destroy(pointer)
    unsafe pointer.deallocate()
  }

  public func signal() { unsafe sem_post(pointer) }

  /// Waits for a signal.
  public func wait() {
    while unsafe sem_wait(pointer) != 0 && errno == EINTR {}
  }

  /// Waits for a signal, no longer than `milliseconds`; returns whether there was one.
  public func wait(milliseconds: Int) -> Bool {
    var deadline = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &deadline)
    let nanoseconds = deadline.tv_nsec + (milliseconds % 1000) * 1_000_000
    deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
    deadline.tv_nsec = nanoseconds % 1_000_000_000
    while unsafe sem_timedwait(pointer, &deadline) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }
}
