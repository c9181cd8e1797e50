enum LogReaderChild { static func run(_ arguments: [String]) {} }
