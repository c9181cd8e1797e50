/// How the states in the store and those of a job's new version correspond. Decides only.
struct StateMapping {
  let job: Job
  let record: JobRecord
  let options: RunOptions
  /// The store's states that go on, under their new names.
  private(set) var kept: [JobRecord.State] = []
  /// The store's states to be deleted.
  private(set) var dropped: [JobRecord.State] = []
  /// States that are new.
  private(set) var added: [StateDeclaration] = []

  init(job: Job, record: JobRecord, options: RunOptions) {
    self.job = job
    self.record = record
    self.options = options
  }

  /// - Throws: `unmappedState` naming a state that nobody claims; `unknownState` for one to be dropped or renamed that
  ///   is not there; `stateMismatch`; `unknownSource`.
  mutating func check() throws(DataflowError) {
    let wanted = Dictionary(job.states.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for state in record.states {
      let stored = state.declaration.name
      let name = options.renaming[stored] ?? stored
      if let declaration = wanted[name], !options.dropping.contains(stored) {
        guard declaration.kind == state.declaration.kind else {
          throw DataflowError(
            .stateMismatch, stored,
            "the store holds \(state.declaration.kind.rawValue) under this name, job \(job.name) wants "
              + "\(declaration.kind.rawValue); give the new state another name, and drop or keep the old one")
        }
        kept.append(JobRecord.State(declaration: declaration, table: state.table))
      } else if options.dropping.contains(stored) {
        dropped.append(state)
      } else {
        throw DataflowError(
          .unmappedState, stored,
          "the store holds this state of job \(job.name) but none of its operators claims it; keep its name, "
            + "or pass the state in `renaming` or `dropping`")
      }
    }
    try checkSettings()
    let keptNames = Set(kept.map(\.declaration.name))
    added = job.states.filter { !keptNames.contains($0.name) }
  }

  private func checkSettings() throws(DataflowError) {
    let stored = Set(record.states.map(\.declaration.name))
    // A new job, or one that forgot everything, has nothing to map: the settings may stay in the program.
    if record.epoch > 0 {
      for name in options.renaming.keys.sorted() where !stored.contains(name) {
        let isDone = options.renaming[name].map { stored.contains($0) } ?? false
        if !isDone {
          throw DataflowError(.unknownState, name, "job \(job.name) has no such state in the store to rename")
        }
      }
    }
    let targets = options.renaming.values.sorted()
    for (name, next) in zip(targets, targets.dropFirst()) where name == next {
      throw DataflowError(.duplicateName, name, "two states of job \(job.name) are renamed to it")
    }
    if Set(kept.map(\.declaration.name)).count < kept.count {
      throw DataflowError(.duplicateName, job.name, "a state is renamed to a name that another state has")
    }
    for source in record.sources.keys.sorted()
    where !job.sourceNames.contains(source) && !options.dropping.contains(source) {
      throw DataflowError(
        .unknownSource, source,
        "the store holds positions of this source of job \(job.name), which reads it no more; keep its name or pass it "
          + "in `dropping`")
    }
  }
}
