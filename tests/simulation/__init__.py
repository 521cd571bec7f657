"""Runs of the Spark host, without a JVM, in a world in which everything goes wrong by seed.

    bucket.py      an object store in memory, below `sash.folders.folder`
    world.py       processes, machines, and whose turn it is
    faults.py      what goes wrong, and where
    workload.py    a random job and what is done with it
    query.py       Spark's part of the host: batches, tasks, retries, speculation
    playing.py     a workload is played to its end, through all faults
    simulate.py    many seeds; the command
"""
