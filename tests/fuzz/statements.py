"""Random statements of every kind, and rows for the streams and tables that they may read."""

from __future__ import annotations

import random
from datetime import timedelta

from fuzz.expressions import Expressions, Named
from fuzz.queries import COLUMNS, STREAMS, TABLES, Queries, written
from fuzz.signatures import TYPES
from fuzz.values import START, literal, value
from sash.schema import BOOLEAN, INT, TIMESTAMP

NAME = "v"  # of the view that a statement makes


def declared(name: str) -> str:
    return ", ".join(f"{written(column)} {type_}" for column, type_ in COLUMNS[name])


PRELUDE = f"""
CREATE STREAM a ({declared("a")}) TIMESTAMP BY ts DELAY 1 SECOND;
CREATE STREAM b ({declared("b")}) TIMESTAMP BY ts;
CREATE STREAM c ({declared("c")});
CREATE TABLE t ({declared("t")});
CREATE TABLE n ({declared("n")}) NON RETROACTIVE;
CREATE VIEW w AS SELECT k, SUM(v) AS total FROM a [RANGE 5 SECONDS] GROUP BY k;
CREATE AGGREGATE rms(x DOUBLE) RETURNS DOUBLE AS SQRT(SUM(x * x) / COUNT(x));
"""


def statement(chance: random.Random) -> str:
    """One statement that the grammar makes; most are views."""
    roll, query = chance.random(), Queries(chance)
    if roll < 0.72:
        return f"CREATE {chance.choice(('', 'OR REPLACE '))}MATERIALIZED VIEW {NAME} AS {query.outermost()}"
    if roll < 0.8:
        return f"EXPLAIN {query.outermost()}"
    if roll < 0.84:
        return f"CREATE VIEW {NAME} AS {query.outermost()}"
    return chance.choice((_stream, _table, _aggregate, _insert, _insert, _update, _delete, _small))(chance)


def _stream(chance: random.Random) -> str:
    columns = ", ".join(f"c{place} {chance.choice(TYPES)}" for place in range(chance.choice((1, 3))))
    time = chance.choice(("", " TIMESTAMP BY ts", " TIMESTAMP BY ts DELAY 5 SECONDS", " TIMESTAMP BY ts IDLE AFTER 1 SECOND", " TIMESTAMP LATENT"))
    return f"CREATE STREAM {chance.choice(('', 'IF NOT EXISTS '))}x (ts TIMESTAMP, {columns}){time}"


def _table(chance: random.Random) -> str:
    columns = ", ".join(f"c{place} {chance.choice(TYPES)}" for place in range(chance.choice((1, 3))))
    return f"CREATE TABLE x ({columns}){chance.choice(('', ' RETROACTIVE', ' NON RETROACTIVE'))}"


def _aggregate(chance: random.Random) -> str:
    make = Expressions(chance, [Named("SUM(x)", chance.choice(TYPES)), Named("COUNT(x)", INT)])
    return f"CREATE OR REPLACE AGGREGATE own(x {chance.choice(TYPES)}) RETURNS {chance.choice(TYPES)} AS {make.of(chance.choice(TYPES))}"


def _insert(chance: random.Random) -> str:
    name = chance.choice(TABLES)
    rows = ", ".join(f"({', '.join(literal(chance, type_) for _, type_ in COLUMNS[name])})" for _ in range(chance.choice((1, 2, 5))))
    return f"INSERT INTO {name} VALUES {rows}"


def _update(chance: random.Random) -> str:
    name = chance.choice(TABLES)
    column, type_ = chance.choice(COLUMNS[name])
    return f"UPDATE {name} SET {column} = {_over(chance, name).of(type_, 1)} WHERE {_over(chance, name).of(BOOLEAN)}"


def _delete(chance: random.Random) -> str:
    name = chance.choice(TABLES)
    return f"DELETE FROM {name} WHERE {_over(chance, name).of(BOOLEAN)}"


def _over(chance: random.Random, name: str) -> Expressions:
    return Expressions(chance, [Named(column, type_) for column, type_ in COLUMNS[name]])


def _small(chance: random.Random) -> str:
    return chance.choice((
        "SHOW STREAMS", "SHOW TABLES", "SHOW VIEWS", "SHOW QUERIES", "DESCRIBE a", "DESC w", "EXPLAIN VIEW w", "DROP VIEW w",
        "DROP STREAM IF EXISTS c", "DROP TABLE t", "DROP AGGREGATE rms", f"ADVANCE TO {literal(chance, TIMESTAMP)}",
    ))  # fmt: skip


def rows(chance: random.Random, name: str, count: int) -> list[dict[str, object]]:
    """Rows of a stream or table: mostly in the order of time, some late, some of strange times."""
    made = []
    for place in range(count):
        row = {column: value(chance, type_) for column, type_ in COLUMNS[name]}
        if "ts" in row and chance.random() < 0.95:
            row["ts"] = START + timedelta(milliseconds=500 * max(0, place - (3 if chance.random() < 0.1 else 0)))
        made.append(row)
    return made


def pushes(chance: random.Random) -> list[tuple[str, list[dict[str, object]]]]:
    names = [*TABLES, *(chance.choice(STREAMS) for _ in range(4))]
    return [(name, rows(chance, name, chance.choice((1, 3, 8)))) for name in names]


def bad_row(chance: random.Random) -> tuple[str, object]:
    """What no stream can take."""
    wrong = chance.choice(({"ts": "no time"}, {"k": "many"}, {"k": 2**40}, {"nothing": 1}, {}, {"ts": None}, {"k": [1]}, 7, None, "row", [1, 2, 3]))
    return chance.choice(STREAMS), [wrong]
