import Bytes
import Foundation
import Records
import Testing

private struct Outer: Record {
  struct Inner: Codable, Sendable { var x: Int }
  var id: Int
  var inner: Inner
}

private struct WithDictionary: Record {
  var counts: [String: Int]
}

private final class Reference: Record {}

private struct Computed: Record {
  var a: Int32
  var b: Timestamp
  var c: String?
  var double: Int32 { a * 2 }
}

@Suite struct LayoutTests {
  @Test func fieldsLieWhereTheCompilerPutThem() throws {
    let layout = try RecordLayout.of(Everything.self)
    #expect(layout.fields.count == 38)
    #expect(layout.size == MemoryLayout<Everything>.size)
    #expect(layout.fields[13].offset == MemoryLayout<Everything>.offset(of: \.text))
    #expect(layout.fields.map(\.name).contains("maybeNumbers"))
    let kind = try #require(layout.fields.first { $0.name == "maybeKind" })
    #expect(kind.type == .string && kind.isOptional)
    let words = try #require(layout.fields.first { $0.name == "words" })
    #expect(words.type == .list && words.element == .string)
  }

  @Test func nestedStructsAreRefusedByName() {
    let error = #expect(throws: RecordsError.self) { try RecordLayout.of(Outer.self) }
    #expect(error?.code == .unsupportedType && error?.field == "inner")
    #expect(error?.description.contains("codable") == true)
  }

  @Test func dictionariesAndClassesAreRefused() {
    #expect(throws: RecordsError.self) { try RecordLayout.of(WithDictionary.self) }
    let error = #expect(throws: RecordsError.self) { try RecordLayout.of(Reference.self) }
    #expect(error?.code == .unsupportedType)
  }

  @Test func enumsWithoutRawValuesAreRefused() {
    enum Shape: Codable, Sendable {
      case round
      case square(Int)
    }
    struct Thing: Record { var shape: Shape }
    let error = #expect(throws: RecordsError.self) { try RecordLayout.of(Thing.self) }
    #expect(error?.field == "shape")
  }

  @Test func keyPathsNameStoredPropertiesOnly() throws {
    let layout = try RecordLayout.of(Computed.self)
    #expect(try layout.index(of: \Computed.a) == 0)
    #expect(try layout.index(of: \Computed.c) == 2)
    for keyPath in [\Computed.double, \Computed.b.microseconds, \Computed.c?.count, \Computed.self] {
      let error = #expect(throws: RecordsError.self) { try layout.index(of: keyPath as PartialKeyPath<Computed>) }
      #expect(error?.code == .unknownProperty)
    }
    #expect(throws: RecordsError.self) { try layout.index(of: \Everything.flag) }
  }

  @Test func foundationUUIDsAreSixteenBytes() throws {
    struct Named: Record, Equatable {
      var id: UUID
      var maybe: UUID?
      var none: UUID?
    }
    let layout = try RecordLayout.of(Named.self)
    #expect(layout.fields.map(\.type) == [.uuid, .uuid, .uuid])
    let codec = try Codec<Named>.record
    let value = Named(id: UUID(), maybe: UUID(), none: nil)
    let bytes = try codec.encoded(value)
    #expect(bytes.count == 49)
    #expect(try codec.decode(bytes) == value)
  }

  @Test func fieldsMoveOneByOne() throws {
    let layout = try RecordLayout.of(Everything.self)
    var random = SeededRandom()
    for _ in 0..<50 {
      let source = Everything.random(&random)
      let target = UnsafeMutablePointer<Everything>.allocate(capacity: 1)
      defer { target.deallocate() }
      let to = UnsafeMutableRawPointer(target)
      withUnsafePointer(to: source) { pointer in
        let from = UnsafeRawPointer(pointer)
        for field in layout.fields {
          if field.isNull(in: from) {
            #expect(field.initializeNull(in: to))
          } else if let bits = field.bits(in: from) {
            #expect(field.initialize(bits: bits, in: to))
          } else {
            #expect(field.withBytes(in: from) { field.initialize(bytes: $0, in: to) } == true)
          }
        }
      }
      #expect(target.pointee == source, "seed \(random.seed)")
      for field in layout.fields { field.deinitialize(in: to) }
    }
  }
}
