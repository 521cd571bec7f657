"""Functions of the user are named in a checkpoint, never stored: whoever goes on with it registers them again."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from without_spark import connected

import sash
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError

S = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's', header = 'true');"
N = "CREATE MATERIALIZED VIEW n AS SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k"
LATER = "CREATE MATERIALIZED VIEW later AS SELECT k, SUM(times(v)) AS total, product(v) AS p FROM s [RANGE 10 SECONDS] GROUP BY k"


class Product:
    def create(self) -> int:
        return 1

    def accumulate(self, state: int, value: int) -> int:
        return state * value

    def finish(self, state: int) -> float:
        return float(state)


def put(folder: Path, number: int, *rows: str) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{number}.csv").write_text("\n".join(["ts,k,v", *rows, ""]))


def register(db: SparkDatabase, factor: int = 2) -> None:
    db.register("times", lambda values: pc.multiply(values, factor), "BIGINT", ["BIGINT"])
    db.register("product", Product, "DOUBLE")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint with a view that came later, and calls both."""
    put(tmp_path, 1, "1,a,1", "2,b,2", "3,a,3")
    db = connected(monkeypatch, tmp_path, S + N)
    db.start()
    db.drain()
    register(db)  # after the query began
    db.execute(LATER)
    db.drain()
    assert db.view("later").to_pylist() == [{"k": "a", "total": 8, "p": 3.0}, {"k": "b", "total": 4, "p": 2.0}]
    db.close()
    return tmp_path


def test_a_restart_without_the_function_says_which_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = connected(monkeypatch, folder, S + N)
    missing = r'jobs/0000000\d: the plan calls your {} that returns {}, and no such function is registered; call db.register\("{}"'
    with pytest.raises(SashError, match=missing.format("aggregate product", "DOUBLE", "product")):
        db.start()
    db.register("Product", Product, "DOUBLE")  # names have no case
    with pytest.raises(SashError, match=missing.format(r"function times\(BIGINT\)", "BIGINT", "times")):
        db.start()
    db.register("times", lambda values: pc.multiply(values, 2), "BIGINT", ["BIGINT"])
    db.start()
    db.drain()
    assert len(db.view("later").to_pylist()) == 2


@pytest.mark.parametrize(("returns", "parameters"), [("DOUBLE", ["BIGINT"]), ("BIGINT", ["INT"]), ("BIGINT", ["BIGINT", "BIGINT"])])
def test_a_function_of_other_types_is_another_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, returns: str, parameters: list[str]
) -> None:
    db = connected(monkeypatch, folder, S + N)
    db.register("product", Product, "DOUBLE")
    db.register("times", lambda *values: values[0], returns, parameters)
    with pytest.raises(SashError, match=r"calls your function times\(BIGINT\) that returns BIGINT, but your function times.* is reg"):
        db.start()


def test_what_is_registered_now_is_called(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a copy of what was registered once, in this process or on record."""
    db = connected(monkeypatch, folder, S + N)
    register(db, 100)
    db.start()
    put(folder, 2, "4,c,5")
    db.drain()
    assert {row["k"]: row["total"] for row in db.view("later").to_pylist()}["c"] == 500
    db.close()


def test_no_code_is_on_disk(folder: Path) -> None:
    for path in (folder / "point").rglob("*"):
        assert not path.is_file() or (b"cloudpickle" not in path.read_bytes() and b"multiply" not in path.read_bytes())


def test_code_that_is_registered_while_spark_runs_reaches_its_workers(tmp_path: Path, spark: SparkSession) -> None:
    put(tmp_path, 1, "1,a,1", "2,b,2", "3,a,3")
    db = sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", base=tmp_path, shards=2)
    db.execute(S + N)
    db.start()
    db.drain()
    register(db)
    db.execute(LATER)
    db.drain()
    assert db.view("later").to_pylist() == [{"k": "a", "total": 8, "p": 3.0}, {"k": "b", "total": 4, "p": 2.0}]
    db.close()
