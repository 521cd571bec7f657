"""Binding a query takes work in proportion to its text, however many columns there are."""

from __future__ import annotations

import cProfile
import pstats

import pytest

import sash


def calls_to_create(columns: int, items: str) -> int:
    """How many functions are called when a view over so many columns is created."""
    db = sash.connect()
    names = [f"c{place}" for place in range(columns)]
    db.execute(f"CREATE STREAM wide (ts TIMESTAMP, {', '.join(f'{name} BIGINT' for name in names)}) TIMESTAMP BY ts")
    text = ", ".join(items.format(name) for name in names[1:])
    profile = cProfile.Profile()
    profile.enable()
    db.execute(f"CREATE MATERIALIZED VIEW v AS SELECT {text} FROM wide [RANGE 1 MINUTE]")
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("items", ["{0}", "wide.{0} + 1 AS {0}", "SUM({0}) AS {0}"])
def test_four_times_the_columns_are_not_sixteen_times_the_work(items: str) -> None:
    calls_to_create(10, items)  # what the first query brings about
    assert calls_to_create(400, items) < 6 * calls_to_create(100, items)
