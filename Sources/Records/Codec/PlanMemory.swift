/// Owns the steps and fields that a plan points to, at addresses that stay.
///
/// A plan is a plain struct of pointers into this memory, so that running it touches no reference count and copies no
/// field description. Whoever keeps a plan keeps its memory.
@safe
final class PlanMemory<Step>: @unchecked Sendable {
  // Invariant: the pointers are to initialised elements that never change until deinit ends them. Nothing is written
  // after init, hence Sendable.
  let steps: UnsafeMutablePointer<Step>
  let fields: UnsafeMutablePointer<RecordLayout.Field>
  let count: Int
  let layout: RecordLayout
  /// A record that lends its fields to others that lack them.
  let defaults: UnsafeMutableRawPointer
  let defaultsCount: Int

  init(_ made: [Step], _ layout: RecordLayout, defaults: [UInt8] = []) {
    self.layout = layout
    count = made.count
    defaultsCount = defaults.count
    unsafe self.defaults = .allocate(byteCount: max(defaults.count, 1), alignment: 8)
    unsafe UnsafeMutableRawBufferPointer(start: self.defaults, count: defaults.count).copyBytes(from: defaults)
    unsafe steps = .allocate(capacity: max(made.count, 1))
    unsafe fields = .allocate(capacity: max(layout.fields.count, 1))
    for (index, step) in made.enumerated() { unsafe (steps + index).initialize(to: step) }
    for (index, field) in layout.fields.enumerated() { unsafe (fields + index).initialize(to: field) }
  }

  deinit {
    unsafe steps.deinitialize(count: count)
    unsafe fields.deinitialize(count: layout.fields.count)
    unsafe steps.deallocate()
    unsafe fields.deallocate()
    unsafe defaults.deallocate()
  }
}
