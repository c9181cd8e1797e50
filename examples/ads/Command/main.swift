import AdsCore
import Foundation

let program = Program(
  say: { print($0) },
  note: { FileHandle.standardError.write(Data("\($0)\n".utf8)) })
exit(await program.run(Array(CommandLine.arguments.dropFirst())))
