import Glibc
import Synchronization

/// Ctrl-C and termination, for commands that end in good order: the first one is noted, the second one ends the
/// process.
enum Interrupts {
  private static let isRaised = Atomic<Bool>(false)

  static var hasCome: Bool { isRaised.load(ordering: .relaxed) }

  /// From now on the next interrupt is noted, and ends what reading or waiting is under way.
  static func catchNext() {
    // Made before a handler can touch it.
    _ = hasCome
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in Interrupts.isRaised.store(true, ordering: .relaxed) }
    // Without SA_RESTART, so that read returns.
    action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
    var both = sigset_t()
    unsafe sigemptyset(&both)
    for signal in [SIGINT, SIGTERM] {
      // What the parent has us ignore, as a shell does for a job in the background, stays ignored.
      var before = sigaction()
      unsafe sigaction(signal, nil, &before)
      if isIgnored(before) { continue }
      unsafe sigaction(signal, &action, nil)
      unsafe sigaddset(&both, signal)
    }
    // A parent may have started us from a thread that blocks signals.
    unsafe pthread_sigmask(SIG_UNBLOCK, &both, nil)
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
