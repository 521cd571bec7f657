"""Rows over time through windows: what enters and leaves the answer at every instant.

A `timeline` says for every instant what enters and leaves, or, as snapshots, what the answer is. `steps` look at the answer
between events and ticks of the clock. Cases whose query reads the clock itself set it at every step.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from cases.suite import (
    ANSWER,
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
)
from sash.database.embedded import EmbeddedDatabase
from sash.testing.tables import from_arrow
from sash.testing.values import instant, moment

MILLISECOND = 1000
TIME = "time_of_the_event"
ON = re.compile(r" ON (\w+)\]")  # the window is over a column of the events

Bag = Counter[Row]


@pytest.mark.parametrize("case", parameters("windows.jsonl"))
def test_window(case: Case) -> None:
    {"timeline": follow_timeline, "steps": follow_steps, "now-steps": follow_clock, "as-of": follow_as_of}[case["format"]](case)


def follow_timeline(case: Case) -> None:
    db = opened(case)
    for event in case["events"]:
        push_event(db, event, event["ts"])
    last = max(case["clock_ticks"])
    db.advance(last * MILLISECOND + 1)
    is_snapshot = case["output"].startswith("snapshot")
    expected = by_instant(case)
    for ts in sorted({*expected, *case["clock_ticks"]}) if not is_snapshot else expected:
        actual = state_at(db, ts) if is_snapshot else changes_at(db, ts)
        same(expected.get(ts, Counter()), actual, f"at {ts}")
    if not is_snapshot:
        assert {change.ts for change in from_arrow(db.changes(ANSWER))} <= {ts * MILLISECOND for ts in expected}


def by_instant(case: Case) -> dict[int, Bag]:
    """Net changes. A group without rows is gone here, where the other system shows it with NULL."""
    nets: dict[int, Bag] = {}
    for entry in case["expected"]:
        net = nets.setdefault(entry["ts"], Counter())
        for sign, rows in ((1, entry["insert"]), (-1, entry["remove"])):
            for row in map(plain, rows):
                if case["relational"] != "yes-except-null-groups" or None not in row:
                    net[row] += sign
    return nets


def changes_at(db: EmbeddedDatabase, ts: int) -> Bag:
    net: Bag = Counter()
    for change in from_arrow(db.changes(ANSWER)):
        if change.ts == ts * MILLISECOND:
            net[plain(change.row)] += change.op
    return net


def state_at(db: EmbeddedDatabase, ts: int) -> Bag:
    state: Bag = Counter()
    for change in from_arrow(db.changes(ANSWER)):
        if change.ts <= ts * MILLISECOND:
            state[plain(change.row)] += change.op
    return state


def follow_steps(case: Case) -> None:
    db = opened(case)
    before = db.view(ANSWER).to_arrow()
    taken = 0
    for entry in case["expected"]:
        if entry["after_events"] > taken or entry.get("clock"):
            before = db.view(ANSWER).to_arrow()
        for event in case["events"][taken : entry["after_events"]]:
            push_event(db, event, event_time(case, event))
        taken = max(taken, entry["after_events"])
        if entry.get("clock"):
            db.advance(entry["ts"] * MILLISECOND)
        elif taken:  # an answer before the first event is empty here
            look(entry, bag(before, entry), bag(db.view(ANSWER).to_arrow(), entry))


def look(entry: dict[str, Any], before: Bag, after: Bag) -> None:
    """One assertion: of rows that entered, of rows that left, or of the answer."""
    change = Counter(after)
    change.subtract(before)
    if "state" in entry:
        same(Counter(map(plain, entry["state"])), after, str(entry))
    inserts, removes = (Counter(map(plain, entry.get(side) or [])) for side in ("insert", "remove"))
    if "insert" in entry or entry.get("nothing"):
        same(inserts - removes, +change, str(entry))
    if "remove" in entry:
        gone = Counter({row: count for row, count in (removes - inserts).items() if set(row) != {None} or before[row]})
        same(gone, -change, str(entry))


def follow_clock(case: Case) -> None:
    db = connect()
    for table in case["tables"]:
        declare(db, "TABLE", table)
    create_views(db, {**case, "dialect": ""}, case["query"])
    for entry in case["expected"]:
        db.advance(instant(entry["now"]))
        for event in case["events"]:
            if event["step"] == entry["step"]:
                push(db, event["stream"], [event["row"]])
        check(entry["state"], rows_of(db), f"step {entry['step']}")


def follow_as_of(case: Case) -> None:
    db = connect()
    declare(db, "TABLE", case["tables"][0])
    create_views(db, {**case, "dialect": ""}, case["query"])
    db.advance(case["events"][0]["ts"] * MILLISECOND)
    push(db, case["events"][0]["stream"], [event["row"] for event in case["events"]])
    for entry in case["expected"]:
        db.advance(entry["as_of"] * MILLISECOND)
        check(entry["state"], rows_of(db), f"as of {entry['as_of']}")


def opened(case: Case) -> EmbeddedDatabase:
    """A database with the streams that the events speak of, and the query."""
    db = connect()
    for name, columns in stream_columns(case).items():
        timed = [(TIME, "TIMESTAMP")] if any(event_time(case, event) is not None for event in case["events"]) else []
        declare(db, "STREAM", {"table": name, "columns": columns + timed}, f"TIMESTAMP BY {TIME}" if timed else "")
    query = ON.sub("]", case["cql_hint"])
    names = " " if "*" in query else f" ({', '.join(f'c{place}' for place in range(selected(case)))}) "
    db.execute(f"CREATE MATERIALIZED VIEW {ANSWER}{names}AS {query}")
    return db


def selected(case: Case) -> int:
    """How many columns the query has."""
    return len(case.get("fields") or next(entry["fields"] for entry in case["expected"] if "fields" in entry))


def stream_columns(case: Case) -> dict[str, list[tuple[str, str]]]:
    values: dict[str, dict[str, list[object]]] = {}
    for event in case["events"]:
        for name, value in event["event"].items():
            values.setdefault(event["stream"], {}).setdefault(name, []).append(value)
    return {stream: [(name, type_of(name, seen)) for name, seen in columns.items()] for stream, columns in values.items()}


def type_of(name: str, values: Sequence[object]) -> str:
    if name == "price" or any(isinstance(value, float) for value in values):
        return "DOUBLE"
    return "BIGINT" if any(isinstance(value, int) for value in values) else "STRING"


def event_time(case: Case, event: dict[str, Any]) -> int | None:
    column = ON.search(case["cql_hint"])
    found: int | None = event["event"][column[1]] if column else event["ts"]
    return found


def push_event(db: EmbeddedDatabase, event: dict[str, Any], ts: int | None) -> None:
    time = {} if ts is None else {TIME: moment(ts * MILLISECOND)}
    db.push(event["stream"], [{**event["event"], **time}])


def bag(answer: pa.Table, entry: dict[str, Any]) -> Bag:
    """An answer, cut to the columns that an assertion speaks of."""
    fields = entry.get("fields") or []
    if len(fields) < answer.num_columns and set(fields) <= set(answer.column_names):
        answer = answer.select(fields)
    return Counter(plain(row) for row in zip(*(column.to_pylist() for column in answer.columns), strict=True))


def same(expected: Bag, actual: Bag, where: str) -> None:
    """Both sides of a net change, or twice the same bag."""
    for sign in (1, -1):
        check(repeated(expected, sign), repeated(actual, sign), where)


def repeated(rows: Bag, sign: int) -> Iterator[Row]:
    return (row for row, count in rows.items() for _ in range(count * sign))
