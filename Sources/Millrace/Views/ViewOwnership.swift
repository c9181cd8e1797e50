import Records
public import Views

extension View {
  /// What a job that writes every column of `Row` owns, as "view:products/bid": each of these columns has one writer.
  /// The primary key is everybody's.
  @usableFromInline
  var ownedResources: [String] {
    let columns = writtenColumns.compactMap { definition.column(id: $0)?.name }
    // A struct of nothing but the key owns which rows there are.
    return (columns.isEmpty ? [definition.key.name] : columns).map { "view:\(name)/\($0)" }
  }
}
