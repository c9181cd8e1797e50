/// The rows of a reference model as a selection reads them: lets a selection be checked without a store.
package struct ModelTables: AdTables {
  private let model: ReferenceModel

  package init(_ model: ReferenceModel) { self.model = model }

  package func household(_ id: Int64) -> Household? { model.households[id] }

  package func campaign(_ id: Int64) -> Campaign? { model.campaigns[id] }

  package func categories(_ match: CategoryMatch) -> [String] { model.categories.keys.filter(match.matches) }

  package func forEachProduct(
    in categories: [String], ranks: ClosedRange<Int64>, _ body: (Product) throws -> Void
  ) rethrows {
    let categories = Set(categories)
    for product in model.products.values
    where ranks.contains(product.rank) && categories.contains(product.category) { try body(product) }
  }
}
