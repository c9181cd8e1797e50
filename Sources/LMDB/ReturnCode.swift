import CLMDB
import Glibc

extension LMDBError {
  /// The typed error of a return code of LMDB: its own codes are negative, errno values positive.
  init(returnCode: Int32, path: String, operation: String) {
    self.init(Code(returnCode: returnCode), path: path, operation: operation, errorNumber: returnCode)
  }

  /// The library's or the system's words for `number`.
  static func message(_ number: Int32) -> String {
    guard let text = unsafe mdb_strerror(number) else { return "unknown" }
    return unsafe String(cString: text)
  }
}

extension LMDBError.Code {
  init(returnCode: Int32) {
    switch returnCode {
    case MDB_MAP_FULL: self = .mapFull
    case ENOSPC, EDQUOT, EFBIG: self = .diskFull
    case MDB_READERS_FULL: self = .readersFull
    case MDB_MAP_RESIZED: self = .mapResized
    case MDB_CORRUPTED, MDB_PAGE_NOTFOUND: self = .corrupted
    case MDB_PANIC: self = .poisoned
    case MDB_INVALID, MDB_VERSION_MISMATCH: self = .versionMismatch
    case MDB_NOTFOUND, ENOENT: self = .notFound
    case EACCES, EPERM: self = .permissionDenied
    case EROFS: self = .readOnlyFileSystem
    case MDB_KEYEXIST, EEXIST: self = .alreadyExists
    case MDB_BAD_VALSIZE: self = .invalidKey
    case MDB_TXN_FULL: self = .transactionFull
    case ENOMEM: self = .outOfMemory
    case EMFILE, ENFILE: self = .tooManyOpenFiles
    case MDB_BAD_TXN, MDB_BAD_DBI, MDB_BAD_RSLOT, MDB_INCOMPATIBLE, MDB_DBS_FULL, EINVAL: self = .badHandle
    default: self = .io
    }
  }
}

/// Throws the typed error of `returnCode` unless it is success.
@inline(__always)
func check(_ returnCode: Int32, _ path: @autoclosure () -> String, _ operation: @autoclosure () -> String)
  throws(LMDBError)
{
  if returnCode != MDB_SUCCESS {
    throw LMDBError(returnCode: returnCode, path: path(), operation: operation())
  }
}
