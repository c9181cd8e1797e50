/// The way to a side output: a part of an operator, declared with `OperatorParts.output`. Of use during the operator's
/// calls only.
public final class SideHandle<Element: Sendable> {
  @usableFromInline let collector: SideCollector<Element>
  @usableFromInline let cursor: CallCursor

  @usableFromInline
  init(_ collector: SideCollector<Element>, _ cursor: CallCursor) {
    self.collector = collector
    self.cursor = cursor
  }

  /// Sends a record to the side output, with the timestamp of what is being worked on, and its key.
  @inlinable
  public func emit(_ element: consuming Element) {
    guard let keys = unsafe cursor.keys else { return }
    unsafe collector.append(element, at: cursor.time, key: keys.pointee, cursor.index, call: cursor.call)
  }
}
