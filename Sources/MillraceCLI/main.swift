import Glibc

// A reader that went away (`| head`) shows as an error of write, so that the store is closed in good order.
signal(SIGPIPE, SIG_IGN)
exit(MillraceCommand(console: Console.standard()).run(Array(CommandLine.arguments.dropFirst())))
