"""What people would use instead, one file each: `python FILE WORKLOAD FOLDER [variant]`, in an environment of its own.

A script imports nothing of Sash. It reads two streams of (ts, k, v) from the folder, as Parquet (`a/*.parquet`), as CSV without a
header (`a.csv`), or with a header and instants in microseconds (`a.numbers.csv`); does the workload as well as it can; and
prints one line of JSON: seconds (from the start of the query to its end, the system running already) and results, or why it
cannot.
"""
