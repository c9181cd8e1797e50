/// The rows of a reference model as a selection reads them: lets a selection be checked without a store.
package struct ModelTables: AdTables {
  private let model: ReferenceModel

  package init(_ model: ReferenceModel) { self.model = model }

  package func household(_ id: Int64) -> Household? { model.households[id] }

  package func campaign(_ id: Int64) -> Campaign? { model.campaigns[id] }

  package func forEachPromoted(inCategory match: CategoryMatch, _ body: (Product) throws -> Void) rethrows {
    for product in model.products.values
    where product.isDescribed && !product.offers.isEmpty && match.matches(product.category) { try body(product) }
  }
}
