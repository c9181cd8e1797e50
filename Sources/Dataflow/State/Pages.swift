import Glibc

/// Zeroed memory straight from the system: untouched parts cost nothing, and large blocks ask for large pages, without
/// which a table of many megabytes waits for address translation more than for data.
enum Pages {
  static let largePage = 2 << 20

  /// The bytes to ask for when at least `count` are needed: whole large pages once there is one.
  static func rounded(_ count: Int) -> Int {
    count < largePage ? count : (count + largePage - 1) / largePage * largePage
  }

  /// `count` zeroed bytes, aligned to a page, from 2 MB on to a large page. Ends the process when the system refuses,
  /// as every Swift allocation does.
  static func allocate(_ count: Int, large: Bool = false) -> UnsafeMutableRawPointer {
    // Over-long by one large page, so that a boundary of it lies inside; the rest is given back.
    let extra = count >= largePage ? largePage : 0
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let address = unsafe mmap(nil, count + extra, PROT_READ | PROT_WRITE, flags, -1, 0)
    guard var memory = unsafe address, unsafe memory != MAP_FAILED else {
      preconditionFailure("out of memory: the system refused \(count) bytes")
    }
    if extra > 0 {
      let over = Int(bitPattern: memory) & (largePage - 1)
      let skip = over == 0 ? 0 : largePage - over
      if skip > 0 { unsafe munmap(memory, skip) }
      unsafe memory += skip
      if extra > skip { unsafe munmap(memory + count, extra - skip) }
    }
    if large { unsafe preferLargePages(memory, count) }
    return unsafe memory
  }

  /// Asks for large pages behind memory from `allocate`.
  static func preferLargePages(_ memory: UnsafeMutableRawPointer, _ count: Int) {
    if count >= largePage { unsafe madvise(memory, count, Int32(MADV_HUGEPAGE)) }
  }

  static func free(_ memory: UnsafeMutableRawPointer, _ count: Int) { unsafe munmap(memory, count) }
}
