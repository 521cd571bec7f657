"""Functions and aggregates of the user, registered by name and used in SQL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;"
ROWS = [(1, "a", 3), (2, "b", 4), (3, "a", 5), (4, "a", None)]


class Product:
    def create(self) -> int:
        return 1

    def accumulate(self, state: int, value: int) -> int:
        return state * value

    def finish(self, state: int) -> float:
        return float(state)


def hypotenuse(x: pa.Array, y: pa.Array) -> pa.Array:
    return pc.sqrt(pc.add(pc.multiply(x, x), pc.multiply(y, y)))


def test_a_function_over_arrow_arrays() -> None:
    db = sash.connect()
    db.register("hypotenuse", hypotenuse, returns="DOUBLE", parameters=["DOUBLE", "DOUBLE"])
    db.execute(f"{STREAM} CREATE MATERIALIZED VIEW h AS SELECT k, Hypotenuse(v, 4) AS h FROM s [ROWS 2] WHERE hypotenuse(v, 0) > 3")
    db.push("s", ROWS)
    assert db.view("h").to_pylist() == [{"k": "a", "h": pytest.approx(41**0.5)}]


def test_an_aggregate_follows_its_window() -> None:
    db = sash.connect()
    db.register("product", Product, returns="DOUBLE")
    db.execute(f"{STREAM} CREATE MATERIALIZED VIEW p AS SELECT k, PRODUCT(v) AS p FROM s [RANGE 3 SECONDS] GROUP BY k")
    db.push("s", ROWS[:3])
    assert db.view("p").to_pylist() == [{"k": "a", "p": 15.0}, {"k": "b", "p": 4.0}]
    db.push("s", ROWS[3:])
    assert db.view("p").to_pylist() == [{"k": "a", "p": 5.0}, {"k": "b", "p": 4.0}]


def test_an_aggregate_in_sql() -> None:
    db = sash.connect()
    db.execute("CREATE AGGREGATE rms(x DOUBLE) RETURNS DOUBLE AS SQRT(SUM(x * x) / COUNT(x))")
    db.execute(f"{STREAM} CREATE MATERIALIZED VIEW r AS SELECT k, rms(v) AS r FROM s GROUP BY k")
    db.push("s", ROWS)
    assert db.view("r").to_pylist() == [{"k": "a", "r": pytest.approx(17**0.5)}, {"k": "b", "r": 4.0}]


def test_code_that_fails_gives_null_and_is_counted() -> None:
    def fails(x: pa.Array) -> pa.Array:
        raise ValueError("no luck")

    db = sash.connect()
    db.register("fails", fails, returns="BIGINT", parameters=["BIGINT"])
    db.execute(f"{STREAM} CREATE MATERIALIZED VIEW f AS SELECT fails(v) AS f FROM s [NOW]")
    db.push("s", ROWS[:1])
    db.end()
    assert db.view("f").to_pylist() == [{"f": None}]
    assert any("no luck" in reason for reason, _, _ in db.failures())


def test_mistakes() -> None:
    db = sash.connect()
    db.register("one", lambda x: x, returns="BIGINT", parameters=["BIGINT"])
    with pytest.raises(sash.SashError, match='there is a function "ONE" already'):
        db.register("ONE", lambda x: x, returns="BIGINT", parameters=["BIGINT"])
    with pytest.raises(sash.SashError, match="unknown type"):
        db.register("two", lambda x: x, returns="NUMBER", parameters=["BIGINT"])
    with pytest.raises(sash.SashError, match="accumulate"):
        db.register("three", object, returns="BIGINT")
    db.execute(STREAM)
    with pytest.raises(sash.SqlError, match="one takes 1 arguments, not 2"):
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT one(v, v) AS x FROM s")
