/// What `millrace groups` is to do.
enum GroupsAction: Equatable, Sendable {
  case list
  case describe(String)
  case reset(String, topic: String, to: RecordPosition)
  case delete(String, isSure: Bool)
}
