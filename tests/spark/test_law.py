"""The law on Spark: every view, in one job, gives the changelog that DuckDB recomputes, for all shards and batch sizes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lengths import LONG
from sash.database.on_spark import SparkDatabase
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import Change, from_arrow
from shapes import INPUTS, SHAPES, STREAMS, make_rows

Rows = dict[str, list[tuple[object, ...]]]
VIEWS = "\n".join(shape.sql for shape in SHAPES)


def cell(value: object) -> str:
    """An empty string is two quotes, NULL is a dash."""
    if value is None:
        return "-"
    return f'"{value}"' if isinstance(value, str) else str(value)


def write_job(folder: Path, rows: Rows) -> str:
    """The streams as csv files, and the statements that read them."""
    for name, lines in rows.items():
        text = "".join(",".join(map(cell, line)) + "\n" for line in lines)
        (folder / f"{name}.csv").write_text(text)
    job = STREAMS
    for name in rows:
        source = f"WITH (format = 'csv', path = '{name}.csv', nullvalue = '-')"
        start = job.index(f" {name} (")
        end = job.index(";", start)
        job = f"{job[:end]} {source}{job[end:]}"
    return job


def spark_changelogs(spark: SparkSession, folder: Path, rows: Rows, shards: int, size: int | None) -> dict[str, list[Change]]:
    out = folder / f"out-{shards}-{size}"
    db = SparkDatabase(spark, output=out, shards=shards, batch_rows=size, base=folder)
    db.execute(write_job(folder, rows) + VIEWS)
    db.run()
    db.close()
    return {shape.name: from_arrow(pq.read_table(out / f"{shape.name}.changes.parquet")) for shape in SHAPES}


def recomputed(rows: Rows) -> dict[str, list[Change]]:
    oracle = Oracle(STREAMS + VIEWS, rows)
    return {shape.name: oracle.changelog(shape.name) for shape in SHAPES}


@cache
def of_input(name: str) -> dict[str, list[Change]]:
    return recomputed(INPUTS[name])


def check(found: dict[str, list[Change]], expected: dict[str, list[Change]]) -> None:
    for shape in SHAPES:
        assert_same(expected[shape.name], found[shape.name])


ALL = [(shards, size) for shards in (1, 2, 5) for size in (7, 1000)]
SOME = [(1, 7), (5, 1000)]  # with the two shards of the next test: every number of shards, and every size


@pytest.mark.parametrize(("shards", "size"), ALL if LONG else SOME)
def test_all_views_at_once(spark: SparkSession, tmp_path: Path, shards: int, size: int) -> None:
    check(spark_changelogs(spark, tmp_path, INPUTS["many"], shards, size), of_input("many"))


@pytest.mark.parametrize("shards", [1, 2, 5] if LONG else [2])
def test_one_row_a_batch(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    rows = make_rows(11, 8)
    check(spark_changelogs(spark, tmp_path, rows, shards, 1), recomputed(rows))


@pytest.mark.parametrize("name", ["empty", "one"])
def test_hardly_any_rows(spark: SparkSession, tmp_path: Path, name: str) -> None:
    check(spark_changelogs(spark, tmp_path, INPUTS[name], 2, 1000), of_input(name))
