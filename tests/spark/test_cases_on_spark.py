"""A sample of other systems' cases on Spark: every table is a stream from a file, spread over two shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from cases.known import KNOWN
from cases.suite import Case, check, create_views, declare, parameters, rows_of, source_name
from sash.database.on_spark import SparkDatabase
from sash.sources.convert import convert

EVERY = 19


def sample() -> list[Any]:
    """Some of the cases that have rows; an answer over streams begins with their first one."""
    cases = parameters("cases.jsonl")
    whole = [p for p in cases if not p.values[0] or any(table["rows"] for table in p.values[0]["setup"])]
    return [p for p in whole if p.id not in KNOWN][::EVERY]


@pytest.mark.parametrize("case", sample())
def test_the_answer_is_theirs(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, base=tmp_path)
    for table in case["setup"]:
        name = source_name(table)
        declare(db, "STREAM", table, f"WITH (format = 'parquet', path = '{name}.parquet')")
        result = convert(db.catalog.streams[name.lower()], [tuple(row) for row in table["rows"]])
        assert not result.dead.num_rows
        pq.write_table(pa.Table.from_batches([result.batch]), tmp_path / f"{name}.parquet")
    create_views(db, case, case["query_spark"])
    db.run()
    check(case["expected"], rows_of(db))
    db.close()
