import Millrace

/// The state of the first step, keyed by product: who lists it, and what waits for its time.
struct ListingStep: Record {
  var listings = Listings()
  var held = HeldEvents<ListingInput>()

  /// Lists of structs are beyond the planned codec.
  static func recordCodec() throws(RecordsError) -> Codec<ListingStep> { .codable }
}

/// The state of the second step, keyed by household: who targets it, and what waits for its time.
struct TargetStep: Record {
  var targets = Targets()
  var held = HeldEvents<TargetInput>()

  static func recordCodec() throws(RecordsError) -> Codec<TargetStep> { .codable }
}

extension ListingStep {
  /// Does what has become due: learns offers, and turns purchases into candidates.
  mutating func advance(to time: Timestamp) -> [Attribution] {
    var candidates: [Attribution] = []
    for input in held.release(upTo: time) {
      switch input {
      case .campaign(let event): listings.apply(event)
      case .purchase(let purchase): candidates += listings.candidates(for: purchase)
      }
    }
    return candidates
  }
}

extension TargetStep {
  /// Does what has become due: learns targets, and keeps the candidates that they confirm.
  mutating func advance(to time: Timestamp) -> [Attribution] {
    var confirmed: [Attribution] = []
    for input in held.release(upTo: time) {
      switch input {
      case .campaign(let event): targets.apply(event)
      case .candidate(let candidate): if targets.confirms(candidate) { confirmed.append(candidate) }
      }
    }
    return confirmed
  }
}
