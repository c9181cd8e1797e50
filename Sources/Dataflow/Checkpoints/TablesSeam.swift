public import LMDB
public typealias TableID = UInt32
public final class TableSpace: Sendable {
  public init() {}
  func create(in t: borrowing WriteTransaction) throws -> TableID { 1 }
  func drop(_ id: TableID, in t: borrowing WriteTransaction) throws {}
  func maintain(in t: borrowing WriteTransaction) throws {}
}
