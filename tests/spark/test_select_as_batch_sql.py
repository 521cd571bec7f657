"""A SELECT on what runs gives what Spark's batch SQL gives for its text over the windows recomputed at that instant: while rows come,
AS OF instants that are over, and on both hosts.

    rows so far ─▶ what every window held at `as_of` (sash.testing.windows) ─▶ temporary views of Spark ─▶ spark.sql(the same text)
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sash
from lengths import count
from sash.database.database import Database
from sash.plan.windows import RangeWindow, RowsWindow, WindowShape
from sash.testing.comparing import same_rows
from sash.testing.windows import Arrival, held

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v DOUBLE) TIMESTAMP BY ts{source};
    CREATE STREAM r (ts TIMESTAMP, k BIGINT, w INT) TIMESTAMP BY ts{other};
    CREATE TABLE t (k BIGINT, name STRING);
"""
VIEWS = {
    "sums": "SELECT g, SUM(v) AS total, COUNT(*) AS n, MAX(k) AS k FROM s [RANGE 10 SECONDS] GROUP BY g",
    "recent": "SELECT ts, k, g, v FROM s [ROWS 9] WHERE v >= 0 OR v IS NULL",
    "named": "SELECT k, g, name, v FROM recent LEFT JOIN t USING (k)",
    "met": "SELECT a.k, a.g, b.w FROM s [RANGE 10 SECONDS] a JOIN r [RANGE 20 SECONDS] b ON a.k = b.k",
}
SECOND = 1_000_000
SHAPES: dict[str, WindowShape] = {
    "s [RANGE 10 SECONDS]": RangeWindow(10 * SECOND), "s [RANGE 8 SECONDS SLIDE 4 SECONDS]": RangeWindow(8 * SECOND, 4 * SECOND),
    "s [ROWS 9]": RowsWindow(9), "s [PARTITION BY g ROWS 2]": RowsWindow(2, partition=(2,)), "r [RANGE 20 SECONDS]": RangeWindow(20 * SECOND),
}  # fmt: skip
OF_S = [name for name in SHAPES if name.startswith("s ")]
INDEXES = "".join(f"CREATE INDEX i{n} ON {window} (k) USING {how};" for n, (window, how) in enumerate(zip(OF_S, ("TREE", "HASH", "LIST", "HASH"), strict=True)))
START = datetime(2026, 1, 1)
TYPES = {
    "s": pa.schema({"ts": pa.timestamp("us"), "k": pa.int64(), "g": pa.string(), "v": pa.float64()}),
    "r": pa.schema({"ts": pa.timestamp("us"), "k": pa.int64(), "w": pa.int32()}),
    "t": pa.schema({"k": pa.int64(), "name": pa.string()}),
}
NAMES = [(0, "zero"), (1, "one"), (1, "uno"), (None, "none"), (9, "nine")]

Row = tuple[object, ...]
Piece = dict[str, list[Row]]


def pieces(chance: random.Random, number: int) -> Iterator[Piece]:
    """Every row is later than all before it, of whichever stream: then what came before an instant follows from the instant."""
    moment = START + timedelta(milliseconds=1)
    yield {"s": [(START, 1, "a", 0.5)], "r": [(moment, 1, 0)]}
    for _ in range(number - 1):
        piece: Piece = {"s": [], "r": []}
        for _ in range(chance.randint(1, 6)):
            moment += timedelta(milliseconds=chance.choice([1, 200, 900, 2500]))
            if chance.random() < 0.75:
                values = chance.choice([0, 1, 2, 7, None]), chance.choice(["", "a", "b", "é", None]), chance.choice([0.0, -0.25, 1.25, 40.5, None])
                piece["s"].append((moment, *values))
            else:
                piece["r"].append((moment, chance.choice([0, 1, 2, None]), chance.randint(-3, 3)))
        yield piece


def question(chance: random.Random, relations: Sequence[str], as_of: str = "") -> str:
    """About relations that have columns k and g; of views it may ask how they were."""
    one, other = (f"{chance.choice(relations)}{as_of}" for _ in range(2))
    where = chance.choice(["", "", " WHERE x.k > 0", " WHERE x.g IS NOT NULL AND x.k <> 1", " WHERE x.g IN ('a', 'é') OR x.k IS NULL"])
    texts = [
        f"SELECT x.k, UPPER(x.g) AS g, x.k * 2 + 1 AS more FROM {one} x{where}",
        f"SELECT DISTINCT x.g, COALESCE(x.k, -1) AS k FROM {one} x{where}",
        f"SELECT x.g, COUNT(*) AS n, COUNT(x.k) AS ks, SUM(x.k) AS total, AVG(x.k) AS mean, MEDIAN(x.k) AS middle FROM {one} x{where} GROUP BY x.g",
        f"SELECT COUNT(DISTINCT x.g) AS n, MIN(x.g) AS least, MAX(x.k) AS most, STDDEV_POP(x.k) AS spread FROM {one} x{where}",
        f"SELECT x.g, COUNT(*) AS n FROM {one} x{where} GROUP BY x.g HAVING COUNT(*) > 1 ORDER BY n DESC, g LIMIT 2",
        f"SELECT x.k, x.g FROM {one} x{where} ORDER BY x.k DESC NULLS LAST, x.g LIMIT 3",
        f"SELECT x.g, y.k, t.name FROM {one} x JOIN {other} y ON x.k = y.k LEFT JOIN t ON y.k = t.k{where}",
        f"SELECT x.k, x.g FROM {one} x LEFT ANTI JOIN {other} y ON x.g = y.g{where}",
        f"SELECT x.k FROM {one} x{where} EXCEPT SELECT y.k FROM {other} y WHERE y.g = 'a'",
        f"SELECT x.g FROM {one} x{where} INTERSECT ALL SELECT y.g FROM {other} y",
        f"SELECT x.k, CASE WHEN x.k IN (SELECT t.k FROM t WHERE t.k IS NOT NULL) THEN 'known' ELSE 'not' END AS is_known FROM {one} x{where}",
        f"SELECT x.g, x.k, ROW_NUMBER() OVER (PARTITION BY x.g ORDER BY x.k) AS place, SUM(x.k) OVER (PARTITION BY x.g) AS total FROM {one} x{where}",
        f"SELECT x.g FROM {one} x WHERE EXISTS (SELECT 1 FROM {other} y WHERE y.k = x.k AND y.g = 'b')",
        f"SELECT x.g, (SELECT MAX(y.k) FROM {other} y WHERE y.g = x.g) AS most FROM {one} x{where}",
    ]  # fmt: skip
    return chance.choice([text for text in texts if not as_of or not re.search(r"\bt\b", text)])  # of tables no history is kept


class Batch:
    """Spark's batch SQL over what came up to an instant."""

    def __init__(self, spark: SparkSession, came: Piece) -> None:
        self._spark, self._came = spark, came
        self._show("t", NAMES, TYPES["t"])

    def rows(self, sql: str, at: datetime) -> list[Row]:
        """Of what the question names, and of what is below that."""
        views = [name for name in VIEWS if re.search(rf"\b{name}\b", sql)]
        views = [name for name in VIEWS if name in views or any(re.search(rf"\b{name}\b", VIEWS[view]) for view in views)]
        for window in SHAPES:
            if any(window in text for text in (sql, *(VIEWS[view] for view in views))):
                self._show(_name(window), self._held(window, at), TYPES[window[0]])
        for view in views:
            self._spark.sql(_without_windows(VIEWS[view])).createOrReplaceTempView(view)
        plain = re.sub(r" TIMESTAMP AS OF '[^']*'", "", sql)
        return [tuple(row.values()) for row in self._spark.sql(_without_windows(plain)).toArrow().to_pylist()]

    def _held(self, window: str, at: datetime) -> list[Row]:
        rows = self._came[window[0]]
        arrivals = [Arrival((row[0] - datetime(1970, 1, 1)) // timedelta(microseconds=1), row) for row in rows]  # type: ignore[operator]
        return [rows[place] for place in held(SHAPES[window], arrivals, (at - datetime(1970, 1, 1)) // timedelta(microseconds=1))]

    def _show(self, name: str, rows: Sequence[Row], schema: pa.Schema) -> None:
        self._spark.createDataFrame(_table(rows, schema)).createOrReplaceTempView(name)


def _table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
    return pa.Table.from_arrays([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def _name(window: str) -> str:
    return re.sub(r"\W+", "_", window)


def _without_windows(sql: str) -> str:
    return re.sub(r"\b[sr] \[[^]]*\]", lambda found: _name(found[0]), sql)


@pytest.fixture
def batch(spark: SparkSession) -> Iterator[tuple[Batch, Piece]]:
    came: Piece = {"s": [], "r": []}
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield Batch(spark, came), came
    spark.conf.set("spark.sql.shuffle.partitions", str(before))
    for name in ("t", *map(_name, SHAPES), *VIEWS):
        spark.catalog.dropTempView(name)


def views() -> str:
    return "".join(f"CREATE MATERIALIZED VIEW {name} WITH (history = 'all') AS {sql};" for name, sql in VIEWS.items())


def check(batch: Batch, sql: str, answer: sash.Answer) -> None:
    assert answer.as_of is not None
    assert same_rows(batch.rows(sql, answer.as_of), [tuple(row.values()) for row in answer]), (sql, answer.as_of)


def ask_of_the_past(db: Database, batch: Batch, chance: random.Random, last: datetime, questions: int) -> None:
    for _ in range(questions):
        at = START + chance.random() * (last - START)
        sql = question(chance, ["sums", "recent", "met"], f" TIMESTAMP AS OF '{at}'")
        answer = db.query(sql)
        assert answer.as_of == at
        check(batch, sql, answer)


def test_in_this_process_while_a_thread_writes(batch: tuple[Batch, Piece]) -> None:
    chance, (reference, came), found = random.Random(1), batch, list[tuple[str, sash.Answer]]()
    with sash.connect() as db:
        db.execute(JOB.format(source="", other="") + views() + "CREATE MATERIALIZED VIEW remembered AS SELECT k FROM s [RANGE 1 HOUR]")
        db.push("t", NAMES)
        todo, may_go_on = list(pieces(chance, 18)), threading.Semaphore(0)

        def put(piece: Piece) -> None:
            for name, row in sorted(((one, row) for one in piece for row in piece[one]), key=lambda one: str(one[1][0])):
                db.push(name, [row])

        def write() -> None:
            for piece in todo[3:]:
                may_go_on.acquire()
                put(piece)

        for piece in todo[:3]:
            put(piece)
        writer = threading.Thread(target=write)
        writer.start()
        for number, piece in enumerate(todo):
            came["s"] += piece["s"]
            came["r"] += piece["r"]
            if number >= 3:
                may_go_on.release()
                sql = question(chance, [*OF_S, "sums", "recent", "named"] if number % 3 else ["sums", "met"])
                found.append((sql, db.query(sql)))
        writer.join()
        assert len({answer.as_of for _, answer in found}) > 3
        for sql, answer in found:
            check(reference, sql, answer)
        ask_of_the_past(db, reference, chance, came["s"][-1][0] - timedelta(seconds=1), count(4, 20))  # type: ignore[operator]


def test_on_spark_while_files_come(batch: tuple[Batch, Piece], spark: SparkSession, tmp_path: Path) -> None:
    """Streams are read file by file: those of one stream are at one instant, whatever has come of the other."""
    chance, (reference, came), found = random.Random(2), batch, list[tuple[str, sash.Answer]]()
    source = " WITH (format = 'parquet', path = '{}')"
    for name in ("s", "r"):
        (tmp_path / name).mkdir()
    with sash.connect(spark, base=tmp_path, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2) as db:
        db.execute(JOB.format(source=source.format("s"), other=source.format("r")) + views() + INDEXES)
        db.push("t", NAMES)
        db.start()
        for number, piece in enumerate(pieces(chance, 9)):
            for name, rows in piece.items():
                came[name] += rows
                if rows:
                    pq.write_table(_table(rows, TYPES[name]), tmp_path / f"{name}/.{number}")
                    (tmp_path / f"{name}/.{number}").rename(tmp_path / f"{name}/{number:03}.parquet")
            if number % 4 == 0:
                db.drain()
            if number > 0:
                sql = question(chance, [*OF_S, "sums", "recent", "named"])
                found.append((sql, db.query(sql)))
        db.drain()
        found += [(sql, db.query(sql)) for sql in (question(chance, ["met"]) for _ in range(2))]
        for sql, answer in found:
            check(reference, sql, answer)
        assert len({answer.as_of for _, answer in found}) > 2
        last = min(came["s"][-1][0], came["r"][-1][0]) - timedelta(seconds=1)  # type: ignore[type-var, operator]
        ask_of_the_past(db, reference, chance, last, count(3, 10))
