import Millrace

/// What the data set does not have and the example makes up: bids, budgets, and one pause.
///
/// Everything comes out of a fixed hash of the ids, so every run and every machine makes up the same.
package enum Generated {
  /// Changes every generated number.
  package static let seed: UInt64 = 0x6164_732E_3230_3137

  /// What an attributed purchase of `product` costs `campaign`: 5 to 49 cents.
  package static func bidCents(campaign: Int64, product: Int64) -> Int64 {
    5 + Int64(hash(1, campaign, product) % 45)
  }

  /// The budget of a campaign that targets `households`.
  ///
  /// A campaign of Type A goes to about half of all households and gets 5.00 to 9.99 per household. The others go to a
  /// few households, which buy little of what they are offered, and get 1 to 3 cents for each: so that some budgets are
  /// spent within the month.
  package static func budgetCents(campaign: Int64, type: String, households: Int) -> Int64 {
    let perHousehold =
      type == "Type A"
      ? 500 + Int64(hash(2, campaign, 0) % 500)
      : 1 + Int64(hash(2, campaign, 0) % 3)
    return perHousehold * Int64(households)
  }

  /// The campaign that is paused for three days, and when.
  package static let pausedCampaign: Int64 = 7
  package static let pauseBegins = Day(year: 2017, month: 5, day: 15)
  package static let pauseEnds = Day(year: 2017, month: 5, day: 18)

  /// SplitMix64 (Steele, Lea and Flood 2014) over the words.
  private static func hash(_ purpose: UInt64, _ first: Int64, _ second: Int64) -> UInt64 {
    var state = seed
    for word in [purpose, UInt64(bitPattern: first), UInt64(bitPattern: second)] {
      state = mix(state ^ mix(word &+ 0x9E37_79B9_7F4A_7C15))
    }
    return state
  }

  private static func mix(_ word: UInt64) -> UInt64 {
    var word = word
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
