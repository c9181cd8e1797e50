enum LogCheckChild { static func run(_ arguments: [String]) {} }
