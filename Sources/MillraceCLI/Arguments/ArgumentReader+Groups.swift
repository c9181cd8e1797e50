/// The options of `millrace groups …`.
extension ArgumentReader {
  func groupsAction(_ name: String) throws(UsageError) -> GroupsAction {
    switch name {
    case "groups list": return .list
    case "groups describe": return .describe(operand(1))
    case "groups reset":
      guard let position = try position("to") else { throw wrong("'--to' must say where the group goes on") }
      return .reset(operand(1), topic: operand(2), to: position)
    default: return .delete(operand(1), isSure: has("yes"))
    }
  }
}
