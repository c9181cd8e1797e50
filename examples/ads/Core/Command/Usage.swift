extension Request {
  /// What `ads --help` prints.
  package static let helpText = """
    ads: an ads marketplace on one embedded store

    ads [run] [--store DIR] [--data DIR] [--parallelism N] [--fresh] [--check]
        Appends a month of events in the order of time, runs the job to their end and prints from one snapshot what
        must come out, the campaigns, and the best ads for a few households. --check compares every row of every view
        and many selections with a plain computation in memory. Exit code 1 if a number is wrong.

    ads feed [--store DIR] [--data DIR] [--fresh]
        Only appends the events.

    ads select --household N [--query TEXT] [--date DAY] [--count N] [--store DIR]
        The best products to promote to a household whose category contains TEXT, as the views are now.

    ads serve-load [--seconds N] [--readers N] [--parallelism N] [--store DIR] [--data DIR] [--fresh]
        Readers at full speed beside the running job, and how long an ad selection took.

      --store DIR      the store's folder (ads.store)        --seconds N      how long to read (10)
      --data DIR       the folder of the CSV files           --readers N      how many threads read
      --parallelism N  subtasks of the job (1)               --date DAY       the day of the request (2017-05-31)
      --fresh          remove the store first                --count N        how many ads (10)

    Exit codes: 0 done, 1 failed, 64 the command line is wrong.
    """
}
