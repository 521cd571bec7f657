"""Steps of changes: after each the change of the answer, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from cases.suite import (
    Case,
    Row,
    check,
    connect,
    create_views,
    declare,
    parameters,
    plain,
    push,
    rows_of,
    source_name,
    spark_text,
)
from sash.database.embedded import EmbeddedDatabase
from sash.testing.values import instant


class Source:
    """A table that takes changes; with a key, a row replaces the one that has the same key."""

    def __init__(self, db: EmbeddedDatabase, table: Case) -> None:
        self._db, self._name = db, source_name(table)
        names = [name for name, _ in table["columns"]]
        self._key = [names.index(name) for name in table.get("primary_key") or []]
        self._rows: dict[Row, Row] = {}

    def change(self, op: str, row: Row) -> None:
        old = self._rows.pop(tuple(row[place] for place in self._key), None) if self._key else row
        if old is not None and (self._key or op == "-"):
            self._db.delete(self._name, [old])
        if op == "+":
            push(self._db, self._name, [row])
            self._rows[tuple(row[place] for place in self._key)] = row


def check_change(expected: Iterable[tuple[Row, int]], before: list[Row], after: list[Row], number: int) -> None:
    change = Counter(map(plain, after))
    change.subtract(Counter(map(plain, before)))
    for sign, what in ((1, "arrivals"), (-1, "departures")):
        check(repeated(expected, sign), repeated(change.items(), sign), f"{what} of step {number}")


def repeated(delta: Iterable[tuple[Row, int]], sign: int) -> list[Row]:
    return [tuple(row) for row, weight in delta for _ in range(weight * sign)]


@pytest.mark.parametrize("case", parameters("deltas.jsonl"))
def test_changes_of_every_step(case: Case) -> None:
    db = connect()
    for table in case["tables"]:
        declare(db, "TABLE", table)
    create_views(db, case, spark_text(case["query"], case["dialect"]))
    sources = {table["table"].lower(): Source(db, table) for table in case["tables"]}
    is_partial = any(step.get("partial") for step in case["steps"])  # shows windows that are closed: only the end compares
    before: list[Row] = []
    for number, step in enumerate(case["steps"], 1):
        if case.get("uses_now"):
            db.advance(instant(step["now"]))
        for change in step["changes"]:
            sources[change["table"].lower()].change(change["op"], tuple(change["row"]))
        if is_partial and number < len(case["steps"]):
            continue
        after = rows_of(db)
        check(step["expected_view"], after, f"step {number}")
        if not is_partial:
            check_change(step["expected_delta"], before, after, number)
        before = after
