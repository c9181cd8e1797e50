import Testing

/// What is written down about the project is there and names what is there.
@Suite("Documents") struct DocumentTests {
  @Test(
    "the project has its documents",
    arguments: ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/FORMAT.md"])
  func present(path: String) {
    #expect(SourceTree.project.exists(path), "\(path) is missing")
  }

  @Test func theArchitectureNamesEveryRoom() throws {
    let page = try SourceTree.project.text("docs/ARCHITECTURE.md")
    for folder in try SourceTree.project.folders(in: "Sources") {
      #expect(page.contains(folder), "docs/ARCHITECTURE.md does not name Sources/\(folder)")
    }
  }

  @Test(
    "scripts stop at the first failure", arguments: ["scripts/setup", "scripts/ads", "scripts/test", ".ci/run"])
  func scripts(path: String) throws {
    let text = try SourceTree.project.text(path)
    #expect(text.contains("set -euo pipefail"), "\(path) goes on after a failure")
  }
}
