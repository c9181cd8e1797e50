import AdsCore
import Glibc
import Millrace

/// `ads-read STORE`: takes snapshots of the store of an `ads` child, one after the other until it is killed, and says
/// `snapshot CHECKPOINT` at each new checkpoint, or `error …` when one is not whole, which ends it.
enum AdsReader {
  /// Something that no checkpoint can hold.
  struct Torn: Error, CustomStringConvertible {
    var description: String
  }

  static func run(_ arguments: [String]) {
    guard let path = arguments.first else {
      Child.say("usage: ads-read STORE")
      exit(64)
    }
    do {
      let ads = try AdsStore(at: path, .readOnly)
      Child.say("opened")
      var last: UInt64 = 0
      while true {
        let checkpoint = try ads.store.read { try check($0, ads) }
        if checkpoint < last { throw Torn(description: "checkpoint \(checkpoint) after \(last)") }
        if checkpoint > last { Child.say("snapshot \(checkpoint)") }
        last = checkpoint
      }
    } catch {
      Child.say("error \(AdsChild.name(of: error)) \(error)")
      exit(1)
    }
  }

  /// What one checkpoint has in both views, it has of the same purchases: those before its positions.
  private static func check(_ snapshot: Snapshot, _ ads: AdsStore) throws -> UInt64 {
    let checkpoint = try snapshot.checkpoint
    let products = try snapshot[ads.productRows]
    let before = try (products.all.sum(\.purchases), products.all.sum(\.revenueCents))
    // Time for commits in between.
    for _ in 0..<20 { sched_yield() }
    let households = try snapshot[ads.householdRows]
    let bought = try (households.all.sum(\.purchases), households.all.sum(\.revenueCents))
    let after = try (products.all.sum(\.purchases), products.all.sum(\.revenueCents))
    let read = try snapshot.positions(of: "purchases").reduce(0, +)
    guard before == bought, after == before, before.0 == read else {
      throw Torn(
        description:
          "at checkpoint \(checkpoint) the products have \(before), then \(after), the households \(bought), "
          + "of \(read) purchases")
    }
    // Through an index: what is ranked there is what a scan finds.
    let ranked = try products.where(\.rank, in: 1...Int64.max).count()
    let scanned = try products.where { $0.rank > 0 }.count()
    guard ranked == scanned else {
      throw Torn(description: "at checkpoint \(checkpoint) an index has \(ranked) rows, a scan \(scanned)")
    }
    return checkpoint
  }
}
