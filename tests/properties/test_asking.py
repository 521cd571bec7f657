"""The law of questions about what was: a SELECT AS OF an instant gives what DuckDB computes for it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest
from playing import Way, pushes

import sash
from sash.testing.comparing import same_rows
from sash.testing.oracle import Oracle
from shapes import INPUTS, SHAPES, STREAMS, Shape


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_as_of_any_instant_is_what_duckdb_computes_for_it(shape: Shape) -> None:
    chance = random.Random(shape.name)
    for rows in INPUTS.values():
        oracle = Oracle(STREAMS + shape.sql, rows)
        db = sash.connect(history="all")
        db.execute(STREAMS + shape.sql)
        for name, part in pushes(db, rows, Way(5, 1)):
            db.push(name, part)
        db.end()
        instants = sorted({change.ts for change in oracle.changelog(shape.name)})
        for instant in chance.sample(instants, min(4, len(instants))):
            for at in (instant, instant - 1):
                moment = datetime(1970, 1, 1) + timedelta(microseconds=at)
                found = db.query(f"SELECT * FROM {shape.name} TIMESTAMP AS OF '{moment}'")
                expected = oracle.answer(shape.name, at).elements()
                assert same_rows(expected, (tuple(row.values()) for row in found)), (shape.name, moment)
