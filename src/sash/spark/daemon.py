"""The daemon that forks Python workers, with everything that they need loaded before the first fork.

Spark runs it by name (`spark.python.daemon.module`). Without it every worker of a query would import Sash, pyarrow
and numba for itself, about a second each.
"""

from __future__ import annotations

from pyspark import daemon

import sash.runtime.shard
import sash.spark.offsets
import sash.spark.stage  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
