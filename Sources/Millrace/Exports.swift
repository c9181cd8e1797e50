// One import gives a user of the library the whole of it.
@_exported public import Bytes
@_exported public import Dataflow
@_exported public import EventLog
@_exported public import Records
@_exported public import Views
