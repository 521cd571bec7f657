"""The law of questions about what was: a SELECT AS OF an instant gives what DuckDB computes for it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from playing import Way, pushes

import sash
from sash.testing.comparing import same_rows
from shapes import INPUTS, SHAPES, STREAMS, Shape, in_one_process, recomputed

ASKED = [shape for shape in SHAPES if "EMIT EVERY" not in shape.sql]  # there, changes come at the ends of periods
A_MOMENT = 1_000  # microseconds: DuckDB rounds to milliseconds where a query asks for them


def plain(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row.values())


@in_one_process(ASKED)
def test_as_of_any_instant_is_what_duckdb_computes_for_it(shape: Shape) -> None:
    chance = random.Random(shape.name)
    for given, rows in INPUTS.items():
        oracle = recomputed(shape, given)
        db = sash.connect(history="all")
        db.execute(STREAMS + shape.sql)
        for name, part in pushes(db, rows, Way(5, 1)):
            db.push(name, part)
        db.end()
        instants = sorted({change.ts for change in oracle.changelog(shape.name)})
        for instant in chance.sample(instants, min(4, len(instants))):
            for at in (instant, instant - A_MOMENT):
                moment = datetime(1970, 1, 1) + timedelta(microseconds=at)
                found = db.query(f"SELECT * FROM `{shape.name}` TIMESTAMP AS OF '{moment}'")
                expected = oracle.answer(shape.name, at).elements()
                assert same_rows(expected, map(plain, found)), (shape.name, moment)
