import Glibc

/// Zeroed memory straight from the system: untouched parts cost nothing, and large blocks ask for large pages, without
/// which a table of many megabytes waits for address translation more than for data.
enum Pages {
  /// `count` zeroed bytes, page-aligned. Ends the process when the system refuses, as every Swift allocation does.
  static func allocate(_ count: Int, large: Bool = false) -> UnsafeMutableRawPointer {
    let largePage = 2 << 20
    // Over-long by one large page, so that a boundary of it lies inside.
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let address = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0)
    guard let memory = unsafe address, unsafe memory != MAP_FAILED else {
      preconditionFailure("out of memory: the system refused \(count) bytes")
    }
    if large && count >= largePage { unsafe madvise(memory, count, Int32(MADV_HUGEPAGE)) }
    return unsafe memory
  }

  static func free(_ memory: UnsafeMutableRawPointer, _ count: Int) { unsafe munmap(memory, count) }
}
