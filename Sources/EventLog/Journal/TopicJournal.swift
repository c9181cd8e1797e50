import Bytes
import LMDB

/// What a topic has acknowledged and not yet committed to a segment: the frames as they lie in the journal's file, and
/// who waits for the commit.
///
/// Used on the writer's thread only.
final class TopicJournal {
  private let topic: UInt64
  private let file: JournalFile
  private var generation: UInt64
  /// What the file holds, from its beginning on.
  private(set) var frames = ByteBuffer(capacity: 4096)
  private(set) var records = 0
  /// Where the topic ends behind the frames; nil if there are none.
  private(set) var end: SegmentTail?
  /// Those who flush later, for what is in the frames.
  private(set) var unfinished: [(progress: AppendProgress, records: Int)] = []
  /// Which delays run that end in a commit of these frames.
  var isTimed = false
  var isTimedForReaders = false

  init(topic: UInt64, directory: String) {
    self.topic = topic
    file = JournalFile(in: directory)
    generation = .random(in: 0 ... .max)
  }

  var isEmpty: Bool { end == nil }
  var bytes: Int { frames.count }

  /// Changes with every commit.
  var currentGeneration: UInt64 { generation }

  /// Decides over `batches` as they were behind `tail` and what is here, and writes those that may be written as one
  /// frame: when this returns, the operating system has them.
  ///
  /// - Throws: if the file cannot be written; nothing was accepted then.
  func append(
    _ batches: [BatchHandle], to segment: SegmentFile, topic name: String, now: Timestamp, tail: SegmentTail,
    producers: inout ProducerTable
  ) throws -> [Result<BatchOutcome, EventLogError>] {
    let start = frames.count
    var moved = end ?? tail
    var frame = JournalFrame(topic: topic, generation: generation, firstSequence: moved.nextSequence)
    unsafe frames.appendUninitialized(JournalFrame.size).initializeMemory(as: UInt8.self, repeating: 0)
    do {
      let outcomes = try unsafe segment.place(batches, topic: name, now: now, tail: &moved, producers: &producers) {
        key, header, stored, tail in
        unsafe frames.append(stored)
        unsafe frame.add(stored, records: header.count)
        tail.add(key, header, bytes: stored.count)
      }
      if frame.batches == 0 {
        frames.truncate(to: start)
        producers.abort()
        return outcomes
      }
      unsafe frame.write(
        to: UnsafeMutableRawBufferPointer(rebasing: frames.mutableBytes[start..<start + JournalFrame.size]))
      try unsafe file.write(frames.bytes.slice(start, frames.count - start), at: start)
      end = moved
      records += frame.records
      producers.keepInJournal()
      return outcomes
    } catch {
      frames.truncate(to: start)
      producers.abort()
      throw error
    }
  }

  /// Takes a frame that was found in the file of an earlier run.
  func take(_ frame: UnsafeRawBufferPointer, records count: Int, end: SegmentTail) {
    unsafe frames.append(frame)
    records += count
    self.end = end
  }

  func finishLater(_ progress: AppendProgress, records: Int) { unfinished.append((progress, records)) }

  /// Whether anybody flushes what is here.
  var isFlushed: Bool { unfinished.contains { $0.progress.isAwaited } }

  /// Those who wait for the commit, once.
  func takeUnfinished() -> [(progress: AppendProgress, records: Int)] {
    defer { unfinished = [] }
    return unfinished
  }

  /// Everything here was committed: the next frame is written over the first.
  func restart() {
    frames.removeAll()
    records = 0
    end = nil
    isTimed = false
    isTimedForReaders = false
    generation = .random(in: 0 ... .max)
  }

  /// Removes the file, when nothing in it is needed any more.
  func remove() throws(EventLogError) { try file.remove() }
}
