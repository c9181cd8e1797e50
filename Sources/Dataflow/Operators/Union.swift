extension Stream {
  /// The records of this stream and of `others`, in the order in which they happen to come.
  ///
  /// Its watermark is the minimum over its inputs; idle ones do not count.
  public func union(_ others: Stream<Element>...) -> Stream<Element> { flow.addMerge([self] + others) }
}
