/// `millrace groups …`.
extension CommandSpecification {
  private static let group = Operand(name: "GROUP", help: "The name of the consumer group.")

  static let ofGroups: [CommandSpecification] = [
    CommandSpecification(
      name: "groups list", summary: "Show the consumer groups and how far behind they are.", operands: [place],
      options: [json, help], examples: ["millrace groups list ads.store"]),
    CommandSpecification(
      name: "groups describe", summary: "Show a group's positions and lag in every partition.",
      operands: [place, group], options: [json, help], examples: ["millrace groups describe ads.store mailer"]),
    CommandSpecification(
      name: "groups reset", summary: "Have a group go on elsewhere; nobody may be reading in it.",
      operands: [place, group, topic],
      options: [
        Option(name: "to", value: "WHERE", help: "'earliest', 'latest', an offset, or a time. Must be given."), json,
        help,
      ],
      examples: ["millrace groups reset ads.store mailer purchases --to 2026-12-01T09:30:00Z"]),
    CommandSpecification(
      name: "groups delete", summary: "Forget a group and its positions.", operands: [place, group],
      options: [Option(name: "yes", value: nil, help: "Do it: its positions are lost."), help],
      examples: ["millrace groups delete ads.store mailer --yes"]),
  ]
}
