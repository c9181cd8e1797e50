/// Every scenario, in the order of `list`.
enum Scenarios {
  static let all: [Scenario] =
    LogScenarios.all + [
      StateScenarios.keyedSum, RecoveryScenario.recovery, ViewScenarios.get,
      ViewScenarios.upsert, ViewScenarios.scan, AdsScenario.select,
    ]
}
