"""Texts and arrays whose length a row asks for: too long ones are NULL and counted, and change no other row."""

from __future__ import annotations

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.scalar.arrays import LONGEST

Row = tuple[object, ...]


def answered(expression: str, rows: list[Row]) -> tuple[list[object], list[int]]:
    """The values of an expression over rows, and how often it failed."""
    db = EmbeddedDatabase(history="none")
    db.execute(f"""
        CREATE STREAM s (ts TIMESTAMP, n INT, w STRING) TIMESTAMP BY ts;
        CREATE MATERIALIZED VIEW v AS SELECT ts, {expression} AS x FROM s [RANGE 1 HOUR];
    """)
    db.push("s", rows)
    values = sorted(((row["ts"], row["x"]) for row in db.view("v").to_pylist()), key=lambda pair: pair[0])
    return [value for _, value in values], [count for _, count, _ in db.failures()]


@pytest.mark.parametrize(
    ("expression", "short"),
    [
        ("REPEAT(w, n)", ["abab", None, None, ""]),
        ("LPAD(w, n, '-+')", ["ab", None, None, ""]),
        ("RPAD(w, n)", ["ab", None, None, ""]),
        ("ARRAY_REPEAT(w, n)", [["ab", "ab"], None, None, []]),
    ],
)
def test_a_length_of_billions_is_null_and_counted(expression: str, short: list[object]) -> None:
    rows: list[Row] = [(0, 2, "ab"), (1, 2_000_000_000, "ab"), (2, None, "ab"), (3, -1, "ab")]
    assert answered(expression, rows) == (short, [1])


@pytest.mark.parametrize("expression", ["REPEAT(w, 2000000000)", "LPAD(w, 2000000000, 'x')", "RPAD(w, 2000000000)"])
def test_a_length_of_billions_that_is_written_down(expression: str) -> None:
    assert answered(expression, [(0, 1, "ab"), (1, 1, None)]) == ([None, None], [1])


def test_the_longest_text_there_is() -> None:
    rows: list[Row] = [(0, LONGEST // 2, "ab"), (1, LONGEST // 2 + 1, "ab"), (2, 1, "ab")]
    assert answered("LENGTH(REPEAT(w, n))", rows) == ([LONGEST, None, 2], [1])


def test_texts_of_a_batch_that_no_array_can_hold_are_made_a_few_rows_at_a_time() -> None:
    rows: list[Row] = [(at, 0 if at == 7 else 1, "ab") for at in range(34)]
    values, failures = answered("LENGTH(LPAD(w, 16000000 / n, 'x'))", rows)
    assert values == [None if at == 7 else 16_000_000 for at in range(34)] and sum(failures) == 1
