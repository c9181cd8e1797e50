/// A queue in an array: appends at the end, takes from the front, in constant time each, over many.
struct Fifo<Element: BitwiseCopyable & Sendable>: Sendable {
  private var elements: [Element] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }

  subscript(index: Int) -> Element {
    get { elements[head + index] }
    set { elements[head + index] = newValue }
  }

  var first: Element? { isEmpty ? nil : elements[head] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    let element = elements[head]
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 1024 && head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }
}
