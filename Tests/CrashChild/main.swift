import Glibc

// The process that crash tests start and kill. A child that was forgotten ends itself.
alarm(300)
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "files": FileSteps.run()
case "lmdb": LMDBShell().run()
case "lmdb-commits": LMDBCommits.run(Array(arguments.dropFirst()))
case "log-appends": LogAppends.run(Array(arguments.dropFirst()))
case "ads": await AdsChild.run(Array(arguments.dropFirst()))
case "ads-read": AdsReader.run(Array(arguments.dropFirst()))
case "log": await LogChild.run(Array(arguments.dropFirst()))
case "log-read": LogReaderChild.run(Array(arguments.dropFirst()))
case "log-group": await LogGroupChild.run(Array(arguments.dropFirst()))
case "log-check": LogCheckChild.run(Array(arguments.dropFirst()))
default:
  Child.say(
    "unknown subcommand; known: files, lmdb, lmdb-commits, log-appends, ads, ads-read, log, log-read, log-group, "
      + "log-check")
  exit(64)
}
