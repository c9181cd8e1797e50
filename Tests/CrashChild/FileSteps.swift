import Glibc

/// `files`: plain file operations, one a line, each answered "ok" or "error N". Descriptors stay open by path.
///
///     write PATH OFFSET SIZE BYTE, truncate PATH SIZE, sync PATH, sync-folder PATH
///     rename FROM TO, unlink PATH, mkdir PATH, rmdir PATH
enum FileSteps {
  static func run() {
    var open: [String: Int32] = [:]
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      Child.say(perform(words, &open) >= 0 ? "ok" : "error \(errno)")
    }
  }

  private static func perform(_ words: [String], _ descriptors: inout [String: Int32]) -> Int {
    func number(_ index: Int) -> Int { index < words.count ? Int(words[index]) ?? 0 : 0 }
    guard words.count > 1 else { return -1 }
    let path = words[1]
    func descriptor() -> Int32 {
      if let descriptor = descriptors[path] { return descriptor }
      let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
      descriptors[path] = descriptor
      return descriptor
    }
    switch words[0] {
    case "write":
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number(4)), count: number(3))
      return pwrite(descriptor(), bytes, bytes.count, number(2)) == bytes.count ? 0 : -1
    case "truncate": return Int(ftruncate(descriptor(), number(2)))
    case "sync": return Int(fdatasync(descriptor()))
    case "sync-folder":
      let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      defer { close(folder) }
      return Int(fsync(folder))
    case "rename": return Int(rename(path, words.count > 2 ? words[2] : ""))
    case "unlink":
      if let descriptor = descriptors.removeValue(forKey: path) { close(descriptor) }
      return Int(unlink(path))
    case "mkdir": return Int(mkdir(path, 0o755))
    case "rmdir": return Int(rmdir(path))
    default: return -1
    }
  }
}
