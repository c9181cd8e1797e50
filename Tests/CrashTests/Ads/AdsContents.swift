import AdsCore
import Millrace
import Testing

@testable import CrashChild

/// Everything that a store of the ads example shows to the outside.
struct AdsContents {
  var rows = ViewRows()
  /// The output topic, key by key in order.
  var attributions: [Int64: [Attribution]] = [:]
  /// The values of the input topics, partition by partition.
  var logs: [AdsWorkload.Topic: [[[UInt8]]]] = [:]

  init(_ ads: AdsStore) async throws {
    rows = try ads.read { try $0.allRows() }
    for try await entry in try ads.attributions.events() {
      attributions[entry.event.household, default: []].append(entry.event)
    }
    for topic in AdsWorkload.Topic.allCases {
      let log = ads.log(topic)
      var partitions: [[[UInt8]]] = []
      for partition in 0..<log.partitions {
        var values: [[UInt8]] = []
        for try await record in log.records(partition: partition, from: 0) { values.append(record.value) }
        partitions.append(values)
      }
      logs[topic] = partitions
    }
  }

  /// Opens the store at `path` beside whoever has it open.
  init(at path: String) async throws {
    let ads = try AdsStore(at: path, .readOnly)
    try await self.init(ads)
    ads.store.close()
  }

  func expectSame(as other: AdsContents, _ comment: Comment) {
    #expect(rows.products == other.rows.products, comment)
    #expect(rows.campaigns == other.rows.campaigns, comment)
    #expect(rows.categories == other.rows.categories, comment)
    #expect(rows.households == other.rows.households, comment)
    #expect(attributions == other.attributions, comment)
    #expect(logs == other.logs, comment)
  }
}

/// What a workload must lead to, computed without a store.
struct AdsExpectation {
  let workload: AdsWorkload
  let model: ReferenceModel
  /// Per topic and partition the places, among the topic's events, of those that belong there, in order.
  let partitions: [AdsWorkload.Topic: [[Int]]]

  /// - Parameter ads: any store of the example, which says how keys are spread.
  init(_ workload: AdsWorkload, _ ads: AdsStore) throws {
    self.workload = workload
    var inventory: [InventoryEvent] = []
    var campaigns: [CampaignEvent] = []
    var purchases: [PurchaseEvent] = []
    var partitions: [AdsWorkload.Topic: [[Int]]] = [:]
    for topic in AdsWorkload.Topic.allCases {
      partitions[topic] = Array(repeating: [], count: ads.log(topic).partitions)
    }
    var counts: [AdsWorkload.Topic: Int] = [:]
    for event in workload.events {
      let key = try ads.encoded(event).key ?? []
      let partition = key.withUnsafeBytes { ads.log(event.topic).partition(forKey: $0) }
      partitions[event.topic]?[partition].append(counts[event.topic, default: 0])
      counts[event.topic, default: 0] += 1
      switch event {
      case .inventory(let event): inventory.append(event)
      case .campaign(let event): campaigns.append(event)
      case .purchase(let event): purchases.append(event)
      }
    }
    self.partitions = partitions
    model = ReferenceModel(inventory: inventory, campaigns: campaigns, purchases: purchases)
  }

  /// Every view and the output topic are what the whole input leads to, and the topics hold all of it, each event once.
  func expectWhole(_ contents: AdsContents, _ comment: Comment) {
    let views = contents.rows.differences(from: model)
    #expect(views.isEmpty, comment)
    var output = AttributionLog()
    for attribution in contents.attributions.values.joined() { output.add(attribution) }
    let differences = output.differences(from: model)
    #expect(differences.isEmpty, comment)
    for (topic, expected) in partitions {
      #expect(contents.logs[topic]?.map(\.count) == expected.map(\.count), "\(comment), topic \(topic)")
    }
  }

  /// Every acknowledged event is where it was said to be.
  func expectPresent(_ acknowledged: [Acknowledgement], _ contents: AdsContents, _ ads: AdsStore, _ comment: Comment)
    throws
  {
    for topic in AdsWorkload.Topic.allCases {
      let numbers = workload.numbers(of: topic)
      for ack in acknowledged where ack.topic == topic {
        let found = contents.logs[topic]?[ack.partition]
        guard let found, ack.offset < found.count else {
          Issue.record("\(ack) was acknowledged and is not there: \(comment)")
          continue
        }
        let event = try ads.encoded(workload.events[numbers[ack.number]])
        if found[ack.offset] != event.value {
          Issue.record("\(ack) was acknowledged, another event is there: \(comment)")
        }
      }
    }
  }
}

/// One event of which a child was told that it is durable.
struct Acknowledgement: Hashable {
  var topic: AdsWorkload.Topic
  /// Its place among the topic's events.
  var number: Int
  var partition: Int
  var offset: Int

  /// What a line of `AdsRun` says; empty for other lines.
  static func parse(_ line: String) -> [Acknowledgement] {
    let words = line.split(separator: " ")
    guard words.count > 3, words[0] == "ack", let topic = AdsWorkload.Topic(rawValue: String(words[1])),
      let first = Int(words[2])
    else { return [] }
    return words.dropFirst(3).enumerated().compactMap { index, place in
      let numbers = place.split(separator: ":").compactMap { Int($0) }
      guard numbers.count == 2 else { return nil }
      return Acknowledgement(topic: topic, number: first + index, partition: numbers[0], offset: numbers[1])
    }
  }
}
