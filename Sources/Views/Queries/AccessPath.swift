internal import Bytes

/// How the rows of a query are found.
enum AccessPath {
  /// The rows of these primary keys.
  case keys([[UInt8]])
  /// The rows of a range of primary keys; nil is open.
  case scan(from: [UInt8]?, to: [UInt8]?)
  /// The rows that an index names in these ranges of its entries. Rows are checked again.
  case index(IndexDefinition, [IndexRange])

  /// Entries with `low` ≤ key < `high`; nil is open.
  struct IndexRange: Equatable {
    var low: [UInt8]
    var high: [UInt8]?
  }

  /// The best way to the rows for which `condition` holds.
  static func choose(_ condition: Condition, _ schema: ViewSchema) -> AccessPath {
    let conjuncts = condition.conjuncts
    if let keys = keys(conjuncts, schema) { return .keys(keys) }
    var best: (index: IndexDefinition, ranges: [IndexRange], score: Int)?
    for index in schema.definition.indexes {
      guard let (ranges, score) = ranges(index, conjuncts, schema), score > (best?.score ?? 0) else { continue }
      best = (index, ranges, score)
    }
    if let best { return .index(best.index, best.ranges) }
    return keyRange(conjuncts, schema)
  }

  // MARK: Primary keys

  private static func keys(_ conjuncts: [Condition], _ schema: ViewSchema) -> [[UInt8]]? {
    let type = schema.columns[0].type
    for case .compare(column: 0, .equal, let literal) in conjuncts where !literal.owned.cell.isNull {
      return [keyBytes(literal.owned.cell, type)]
    }
    for case .isOneOf(column: 0, let literals) in conjuncts {
      let keys = literals.filter { !$0.owned.cell.isNull }.map { keyBytes($0.owned.cell, type) }
      return Array(Set(keys)).sorted { $0.lexicographicallyPrecedes($1) }
    }
    return nil
  }

  private static func keyBytes(_ cell: Cell, _ type: ColumnType) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 32)
    KeyCoding.append(cell, type, to: &buffer)
    return buffer.array
  }

  private static func keyRange(_ conjuncts: [Condition], _ schema: ViewSchema) -> AccessPath {
    let type = schema.columns[0].type
    var low: [UInt8]?
    var high: [UInt8]?
    for conjunct in conjuncts {
      switch conjunct {
      case .compare(column: 0, let comparison, let literal) where !literal.owned.cell.isNull:
        let key = keyBytes(literal.owned.cell, type)
        switch comparison {
        case .greater, .greaterOrEqual: low = Self.later(low, key)
        case .less: high = Self.earlier(high, key)
        case .lessOrEqual: high = Self.earlier(high, key + [0])
        default: break
        }
      case .hasPrefix(column: 0, let literal):
        let key = keyBytes(literal.owned.cell, type)
        low = Self.later(low, key)
        if let end = successor(key) { high = Self.earlier(high, end) }
      default: break
      }
    }
    return .scan(from: low, to: high)
  }

  private static func later(_ old: [UInt8]?, _ new: [UInt8]) -> [UInt8] {
    guard let old else { return new }
    return old.lexicographicallyPrecedes(new) ? new : old
  }

  private static func earlier(_ old: [UInt8]?, _ new: [UInt8]) -> [UInt8] {
    guard let old else { return new }
    return old.lexicographicallyPrecedes(new) ? old : new
  }

  /// The least bytes above everything that begins with `bytes`; nil if there are none.
  static func successor(_ bytes: [UInt8]) -> [UInt8]? {
    var end = bytes
    while let last = end.last {
      if last < 0xFF {
        end[end.count - 1] = last + 1
        return end
      }
      end.removeLast()
    }
    return nil
  }

  // MARK: Indexes

  /// The ranges of `index` that hold every row for which all conjuncts hold; nil if the index is of no use. The score
  /// is higher the more columns are fixed.
  private static func ranges(
    _ index: IndexDefinition, _ conjuncts: [Condition], _ schema: ViewSchema
  ) -> ([IndexRange], Int)? {
    var prefixes: [[UInt8]] = [[]]
    var score = 0
    for id in index.columns {
      guard let position = schema.position(of: id) else { return nil }
      let type = schema.columns[position].type
      if let cells = equalities(position, conjuncts) {
        prefixes = prefixes.flatMap { prefix in cells.map { prefix + encoded($0, type, KeyCoding.appendIndexed) } }
        // Many values times many: the scan is better.
        if prefixes.count > 1_000 { return nil }
        score += 4
        continue
      }
      if let (low, high, bonus) = bounds(position, type, conjuncts) {
        let ranges = prefixes.map { IndexRange(low: $0 + low, high: successor($0 + high)) }
        return (ranges, score + bonus)
      }
      break
    }
    if score == 0 { return nil }
    let unique = Set(prefixes).sorted { $0.lexicographicallyPrecedes($1) }
    return (unique.map { IndexRange(low: $0, high: successor($0)) }, score)
  }

  private static func equalities(_ position: Int, _ conjuncts: [Condition]) -> [Cell]? {
    for conjunct in conjuncts {
      switch conjunct {
      case .compare(position, .equal, let literal): return [literal.owned.cell]
      case .isOneOf(position, let literals): return literals.map(\.owned.cell)
      default: continue
      }
    }
    return nil
  }

  /// The bytes at which values within the bounds begin, and those that are a prefix of, or below which are, the last.
  private static func bounds(
    _ position: Int, _ type: ColumnType, _ conjuncts: [Condition]
  ) -> (low: [UInt8], high: [UInt8], bonus: Int)? {
    // The mark of a value that is not nil.
    var low: [UInt8] = [1]
    var high: [UInt8] = [1]
    var bonus = 0
    for conjunct in conjuncts {
      switch conjunct {
      case .compare(position, .greater, let literal), .compare(position, .greaterOrEqual, let literal):
        low = later(low, encoded(literal.owned.cell, type, KeyCoding.appendLowerBound))
        bonus += 1
      case .compare(position, .less, let literal), .compare(position, .lessOrEqual, let literal):
        let end = encoded(literal.owned.cell, type, KeyCoding.appendUpperPrefix)
        high = high == [1] ? end : earlier(high, end)
        bonus += 1
      case .hasPrefix(position, let literal):
        let bytes = encoded(literal.owned.cell, type) { cell, _, key in KeyCoding.appendPrefix(cell, to: &key) }
        low = later(low, bytes)
        high = high == [1] ? bytes : earlier(high, bytes)
        bonus += 2
      default: continue
      }
    }
    return bonus == 0 ? nil : (low, high, bonus)
  }

  private static func encoded(
    _ cell: Cell, _ type: ColumnType, _ append: (Cell, ColumnType, inout ByteBuffer) -> Void
  ) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 64)
    append(cell, type, &buffer)
    return buffer.array
  }
}
