public import Bytes

/// The watermark of several inputs: the minimum of the active ones; never falls.
///
/// An input that wakes up behind the merged watermark is left out of the minimum until it has caught up. When all
/// inputs are idle the result is the greatest watermark that any of them reached, whichever fell idle first.
public struct WatermarkMerge: Sendable {
  private struct Input {
    var time = Timestamp.min
    var isIdle = false
    /// Whether the input takes part in the minimum: it is active and has caught up.
    var isCounted = true
  }

  private var inputs: [Input]
  /// The merged watermark.
  public private(set) var current: Watermark

  /// A merge of `count` inputs of which nothing is known, with a watermark of at least `floor`.
  public init(count: Int, floor: Timestamp = .min) {
    inputs = [Input](repeating: Input(), count: count)
    current = Watermark(floor, isIdle: count == 0)
  }

  /// Takes over what `input` says and returns the merged watermark if it changed.
  public mutating func update(_ input: Int, _ watermark: Watermark) -> Watermark? {
    note(input, watermark)
    return settle()
  }

  /// Takes over what `input` says; `settle` draws the conclusion, once for many inputs.
  public mutating func note(_ input: Int, _ watermark: Watermark) {
    inputs[input].time = max(inputs[input].time, watermark.time)
    inputs[input].isIdle = watermark.isIdle
    inputs[input].isCounted = !watermark.isIdle && inputs[input].time >= current.time
  }

  /// Returns the merged watermark if it changed since the last call.
  public mutating func settle() -> Watermark? {
    var counted = false
    var active = false
    var lowest = Timestamp.max
    var highest = Timestamp.min
    for input in inputs {
      highest = max(highest, input.time)
      if !input.isIdle { active = true }
      if input.isCounted {
        counted = true
        lowest = min(lowest, input.time)
      }
    }
    var next = current
    next.isIdle = !active
    if counted {
      next.time = max(current.time, lowest)
    } else if !active {
      next.time = max(current.time, highest)
    }
    guard next != current else { return nil }
    current = next
    // Inputs that the new watermark left behind were counted, so none is behind; those awake and level count again.
    for index in inputs.indices where !inputs[index].isIdle && inputs[index].time >= next.time {
      inputs[index].isCounted = true
    }
    return next
  }
}
