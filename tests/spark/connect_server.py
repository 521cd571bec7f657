"""A server of Spark Connect in a process of its own, until its input ends; it has a session as Sash makes it, which starts fast.

    PYSPARK_SUBMIT_ARGS="--conf spark.plugins=… pyspark-shell" python connect_server.py
"""

from __future__ import annotations

import sys

from sash.spark.session import local_session


def main() -> None:
    spark = local_session("2")
    print(spark.version, flush=True)
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main()
