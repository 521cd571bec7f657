"""Tables and a query of another system: the answer is the one that it gives, whatever the order of the rows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cases.suite import ANSWER, Case, check, connect, create_views, declare, parameters, push, rows_of
from sash.schema import SECOND
from sash.testing.tables import from_arrow


def shuffled(rows: list[Any], seed: int) -> list[Any]:
    return random.Random(seed).sample(rows, len(rows))


def final_answer(case: Case, kind: str, seed: int) -> list[tuple[Any, ...]]:
    db = connect()
    for table in case["setup"]:
        declare(db, kind, table)
    create_views(db, case, case["query_spark"])
    for table in shuffled(case["setup"], seed):
        push(db, table["table"], shuffled(table["rows"], seed))
    return rows_of(db)


@pytest.mark.parametrize("case", parameters("cases.jsonl"))
def test_tables_in_any_order(case: Case) -> None:
    for seed in (1, 2):
        check(case["expected"], final_answer(case, "TABLE", seed))


@pytest.mark.parametrize("case", parameters("cases.jsonl"))
def test_a_view_over_tables_that_have_rows(case: Case) -> None:
    """Half of the rows are there before the view is made, half come after it."""
    db = connect()
    for table in case["setup"]:
        declare(db, "TABLE", table)
        push(db, table["table"], table["rows"][::2])
    create_views(db, case, case["query_spark"])
    for table in case["setup"]:
        push(db, table["table"], table["rows"][1::2])
    check(case["expected"], rows_of(db))


@pytest.mark.parametrize("case", parameters("cases.jsonl"))
def test_unbounded_streams(case: Case) -> None:
    if not any(table["rows"] for table in case["setup"]):
        pytest.skip("an answer over streams begins with their first row")
    check(case["expected"], final_answer(case, "STREAM", 3))


@pytest.mark.parametrize("case", [p for p in parameters("cases.jsonl") if p.values[0].get("history", True)])
def test_tables_with_a_history(case: Case) -> None:
    """Inserts and deletes as they happened, each at a moment of its own: tables alone have no time but what they are told. The
    changes add up to the answer."""
    db = connect()
    for table in case["setup"]:
        declare(db, "TABLE", table)
    create_views(db, case, case["query_spark"])
    for moment, change in enumerate(case["history"], 1):
        if change["delete"]:
            db.delete(change["table"], [tuple(row) for row in change["delete"]])
        push(db, change["table"], change["insert"])
        db.advance(moment * SECOND)
    check(case["expected"], rows_of(db))
    entered = [change.row for change in from_arrow(db.changes(ANSWER)) if change.op > 0]
    left = [change.row for change in from_arrow(db.changes(ANSWER)) if change.op < 0]
    check(entered, [*left, *rows_of(db)])
