/// `millrace groups …`.
extension CommandSpecification {
  static let ofGroups: [CommandSpecification] = []
}
