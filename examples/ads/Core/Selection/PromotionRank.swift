/// Scores in steps of powers of two: coarse enough that a product seldom changes its rank, and with it its place in the
/// index.
package enum PromotionRank {
  /// The rank of a product that is not promoted.
  package static let none: Int64 = -1

  /// The number of bits of a score that is not negative: 0 for 0, k for 2^(k−1) up to 2^k − 1.
  package static func of(_ score: Int64) -> Int64 { Int64(Int64.bitWidth - score.leadingZeroBitCount) }

  /// The ranks in the portions in which a selection looks at them, the highest first.
  package static let portions: [ClosedRange<Int64>] = [17...63, 14...16, 11...13, 7...10, 0...6]

  /// The least score of a rank.
  package static func leastScore(_ rank: Int64) -> Int64 { rank <= 0 ? 0 : 1 << (rank - 1) }
}
