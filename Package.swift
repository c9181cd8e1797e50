// swift-tools-version: 6.2
import PackageDescription

/// The settings of every test target.
let testSettings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

/// The settings of every other target: unsafe code is marked as such (the macros of the tests cannot mark theirs).
let settings: [SwiftSetting] = testSettings + [.strictMemorySafety()]

/// The library targets from the bottom of the house to its top: a target may import only what stands before it.
let package = Package(
  name: "millrace",
  products: [
    .library(name: "Millrace", targets: ["Millrace"]),
    .executable(name: "millrace", targets: ["MillraceCLI"]),
    .executable(name: "millrace-bench", targets: ["MillraceBench"]),
    .executable(name: "ads", targets: ["Ads"]),
  ],
  targets: [
    .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
    .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
    .systemLibrary(name: "CISAL", pkgConfig: "libisal", providers: [.apt(["libisal-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .target(name: "Bytes", dependencies: ["CXXHash", "CISAL"], swiftSettings: settings),
    .target(name: "LMDB", dependencies: ["CLMDB"], swiftSettings: settings),
    .target(name: "Records", dependencies: ["Bytes"], swiftSettings: settings),
    .target(name: "Tables", dependencies: ["Bytes", "LMDB"], swiftSettings: settings),
    .target(name: "EventLog", dependencies: ["Bytes", "LMDB", "CZstd"], swiftSettings: settings),
    .target(
      name: "Dataflow", dependencies: ["Bytes", "LMDB", "Records", "Tables"],
      swiftSettings: settings),
    .target(
      name: "Views", dependencies: ["Bytes", "LMDB", "Records", "Tables"], swiftSettings: settings),
    .target(
      name: "Millrace",
      dependencies: ["Bytes", "LMDB", "Records", "Tables", "EventLog", "Dataflow", "Views"],
      swiftSettings: settings),
    .executableTarget(name: "MillraceCLI", dependencies: ["Millrace"], swiftSettings: settings),
    .executableTarget(
      name: "MillraceBench", dependencies: ["Millrace", "AdsCore"], path: "Benchmarks/MillraceBench",
      swiftSettings: settings),
    .target(
      name: "AdsCore", dependencies: ["Millrace"], path: "examples/ads/Core", swiftSettings: settings),
    .executableTarget(
      name: "Ads", dependencies: ["AdsCore"], path: "examples/ads/Command", swiftSettings: settings),

    // What the crash tests use: a child process that does the work and dies, and what drives it.
    .target(name: "CrashSupport", path: "Tests/CrashSupport", swiftSettings: testSettings),
    .executableTarget(
      name: "CrashChild", dependencies: ["CrashSupport", "Bytes", "LMDB", "EventLog", "Millrace", "AdsCore"],
      path: "Tests/CrashChild",
      swiftSettings: testSettings),

    tests("Bytes", ["Bytes"]),
    tests("LMDB", ["LMDB", "CrashSupport", "CrashChild"]),
    tests("Records", ["Bytes", "Records"]),
    tests("Tables", ["Bytes", "LMDB", "Tables"]),
    tests("EventLog", ["Bytes", "LMDB", "EventLog"]),
    tests("Dataflow", ["Bytes", "LMDB", "Records", "Tables", "Dataflow"]),
    tests("Views", ["Bytes", "LMDB", "Records", "Tables", "Views"]),
    tests("Millrace", ["Millrace", "LMDB", "Tables"]),
    tests("MillraceCLI", ["MillraceCLI", "Millrace"]),
    tests("Ads", ["AdsCore", "Millrace"]),
    tests("Crash", ["CrashSupport", "CrashChild", "Bytes", "LMDB", "EventLog", "Millrace", "AdsCore"]),
    tests("House", []),
  ]
)

/// The test target of `module`.
func tests(_ module: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: module + "Tests", dependencies: dependencies, swiftSettings: testSettings)
}
