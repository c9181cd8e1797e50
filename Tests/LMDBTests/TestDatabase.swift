import LMDB

/// An environment with one database, spoken to in text and sizes.
struct TestDatabase {
  let environment: Environment
  let database: Database

  init(_ path: String, _ options: Environment.Options = .init()) throws {
    var options = options
    options.databases = ["main"]
    environment = try Environment.open(at: path, options)
    database = try environment.database("main")
  }

  /// One transaction that stores `size` bytes under `key`.
  func put(_ key: String, size: Int = 10) throws {
    try environment.write { try put(key, size: size, in: $0) }
  }

  func put(_ key: String, size: Int, in transaction: borrowing WriteTransaction) throws {
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: size), count: size)
    try Array(key.utf8).withUnsafeBytes { key in
      try value.withUnsafeBytes { try transaction.put(database, key: key, value: $0) }
    }
  }

  @discardableResult
  func delete(_ key: String, in transaction: borrowing WriteTransaction) throws -> Bool {
    try Array(key.utf8).withUnsafeBytes { try transaction.delete(database, key: $0) }
  }

  /// The size of the value of `key`, as of the newest commit; nil if there is none.
  func size(_ key: String) throws -> Int? { try environment.read { try size(key, in: $0) } }

  func size(_ key: String, in transaction: borrowing ReadTransaction) throws -> Int? {
    try Array(key.utf8).withUnsafeBytes { try transaction.get(database, $0)?.count }
  }
}

/// The code of the error that `body` throws, nil if it throws none.
func code(_ body: () throws -> Void) -> LMDBError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LMDBError)?.code
  }
}
