"""The soak runs on Spark too: its answers are right, and it measures what it says."""

from __future__ import annotations

from pyspark.sql import SparkSession

from soak.load import Load
from soak.on_spark import OnSpark


def test_a_soak_on_spark(spark: SparkSession) -> None:
    host, load = OnSpark("10 SECONDS", spark), Load()
    try:
        for _ in range(3):
            host.tick(load.tick())
        for view in ("named", "pairs"):
            host.check(load, view)
        measured = host.measure()
        assert set(host.rooms) == set(measured)
        assert all(measured[name] > 0 for name in measured if "temporary" not in name)
    finally:
        host.close()
