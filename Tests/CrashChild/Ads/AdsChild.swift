import AdsCore
import Glibc
import LMDB
import Millrace

/// `ads STORE DATA EVENTS PARALLELISM SEED [CHECKPOINT [SEGMENT_MS [GROUP]]]`: an `AdsRun`; the exit code is 1 after a
/// line `error TYPE CODE TEXT`. CHECKPOINT is a time in milliseconds, or negative: after so many records.
enum AdsChild {
  static func run(_ arguments: [String]) async {
    let numbers = arguments.dropFirst(2).compactMap { Int($0) }
    guard arguments.count >= 5, numbers.count == arguments.count - 2 else {
      Child.say("usage: ads STORE DATA EVENTS PARALLELISM SEED [CHECKPOINT [SEGMENT_MS [GROUP]]]")
      exit(64)
    }
    do {
      var run = AdsRun(path: arguments[0], workload: try AdsWorkload(folder: arguments[1], count: numbers[0]))
      run.parallelism = numbers[1]
      run.seed = UInt64(bitPattern: Int64(numbers[2]))
      if numbers.count > 3 {
        run.checkpoints = numbers[3] < 0 ? .everyRecords(-numbers[3]) : .every(.milliseconds(numbers[3]))
      }
      if numbers.count > 4 { run.segmentAge = .milliseconds(numbers[4]) }
      if numbers.count > 5 { run.groupSize = numbers[5] }
      run.say = { Child.say($0) }
      try await run.run()
    } catch {
      Child.say("error \(name(of: error)) \(error)")
      exit(1)
    }
  }

  /// Type and code of an error of the library; "untyped" if it is none.
  static func name(of error: any Error) -> String {
    switch error {
    case let error as StoreError: "StoreError \(error.code)"
    case let error as EventLogError: "EventLogError \(error.code)"
    case let error as DataflowError: "DataflowError \(error.code)"
    case let error as ViewError: "ViewError \(error.code)"
    case let error as RecordsError: "RecordsError \(error.code)"
    case let error as LMDBError: "LMDBError \(error.code)"
    default: "untyped \(type(of: error))"
    }
  }
}
