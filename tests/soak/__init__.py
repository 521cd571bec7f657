"""A steady mixed load for as long as one likes, on either host: nothing may grow, and every answer is right.

    load.py        the job, its rows, and what else happens
    measures.py    what is measured of processes and folders
    trend.py       what counts as growth
    embedded.py    the load on the engine in this process
    on_spark.py    the load on Spark
    soak.py        the command
"""
