import Bytes
import LMDB

/// What opening a topic found in its journal: records that had been acknowledged and not yet synced.
public struct JournalRecovery: Sendable, Hashable {
  /// Records that were taken over into the log.
  public var records = 0
  /// Records of which the journal tells, and which cannot be read or stand behind one that cannot: lost, as the topic's
  /// durability says of a crash of the machine. After a crash of the process alone there are none that had been
  /// acknowledged.
  public var lostRecords = 0

  public init(records: Int = 0, lostRecords: Int = 0) {
    self.records = records
    self.lostRecords = lostRecords
  }
}

extension TopicJournal {
  /// Takes from `contents`, the file as an earlier run left it, what goes on where the segments end, at `tail`.
  ///
  /// A frame counts if it is whole, of this topic, and begins with the sequence and the offsets that are due; frames
  /// that are in a segment already are passed over; the first one that does not count is the end. Those behind the
  /// first that counts must be of its generation: what an earlier one left further on is not taken for them.
  func recover(
    _ contents: UnsafeRawBufferPointer, topic: UInt64, tail: SegmentTail, producers: inout ProducerTable
  ) -> JournalRecovery {
    var found = JournalRecovery()
    var position = 0
    var moved = tail
    var generation: UInt64?
    while let frame = unsafe JournalFrame(contents, at: position), frame.topic == topic {
      let start = position
      position += JournalFrame.size + frame.bytes
      if frame.nextSequence <= tail.nextSequence { continue }
      let isNext =
        found.lostRecords == 0 && frame.firstSequence == moved.nextSequence
        && generation ?? frame.generation == frame.generation
      guard isNext, unsafe frame.isWhole(contents, at: start), let end = unsafe follow(frame, contents, start, moved)
      else {
        // At least one, however little is known of it.
        found.lostRecords += max(1, frame.records)
        continue
      }
      unsafe frame.forEachBatch(contents, at: start) { header, _ in
        producers.note(header)
        return true
      }
      producers.keepInJournal()
      generation = frame.generation
      moved = end
      found.records += frame.records
      unsafe take(contents.slice(start, position - start), records: frame.records, end: moved)
    }
    return found
  }

  /// Where the topic ends behind `frame`; nil if that does not go on at `tail`.
  private func follow(
    _ frame: JournalFrame, _ contents: UnsafeRawBufferPointer, _ start: Int, _ tail: SegmentTail
  ) -> SegmentTail? {
    var moved = tail
    var isNext = true
    unsafe frame.forEachBatch(contents, at: start) { header, batch in
      isNext =
        isNext && moved.nextOffsets.indices.contains(header.partition)
        && header.firstOffset == moved.nextOffsets[header.partition]
      if !isNext { return false }
      let key = BatchKey(sequence: moved.nextSequence, partition: header.partition, offset: header.firstOffset)
      moved.add(key, header, bytes: batch.count)
      return true
    }
    return isNext ? moved : nil
  }
}
