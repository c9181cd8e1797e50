import Millrace

/// A row of the view `categories`: a category that some product is in or was in.
package struct Category: Record, Hashable {
  package var category: String
  /// The category in capitals (A–Z): what an ad request's text is looked for in.
  package var searchText: String
  /// How often the inventory put a product into it.
  package var descriptions: Int64

  package init(category: String) {
    self.category = category
    searchText = CategoryMatch.capitals(category)
    descriptions = 0
  }

  package mutating func apply(_ event: InventoryEvent) { descriptions += 1 }
}
