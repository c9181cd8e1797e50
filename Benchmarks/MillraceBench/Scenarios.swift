/// Every scenario, in the order of `list`.
enum Scenarios {
  static let all: [Scenario] = [
    LogScenarios.append, LogScenarios.scan, StateScenarios.keyedSum, RecoveryScenario.recovery, ViewScenarios.get,
    ViewScenarios.upsert, ViewScenarios.scan, AdsScenario.select,
  ]
}
