"""The law for plans that change while they run: whenever, and to whatever other plan, nothing of it shows."""

from __future__ import annotations

import random

import pytest
from playing import Way, pushes

from sash.database import replan
from sash.database.embedded import EmbeddedDatabase
from sash.plan.nodes import Plan
from sash.plan.statistics import Statistics
from sash.planner.choose import Choice, offers
from sash.planner.placement import Expiry
from sash.testing.tables import Change, from_arrow
from shapes import SHAPES, STREAMS, make_rows

NAMES = ("join", "join_more", "self_join", "three_way", "join_group", "join_total", "slide_join", "left_join",
         "semi_exists")  # fmt: skip
ROWS = make_rows(6, 40)


def run(sql: str, view: str, expiry: str) -> tuple[list[Change], int]:
    db = EmbeddedDatabase(expiry=expiry)
    db.execute(f"{STREAMS} {sql}")
    for name, part in pushes(db, ROWS, Way(size=4)):
        db.push(name, part)
    db.end()
    return from_arrow(db.changes(view)), db._replanner.times


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.name in NAMES], ids=lambda shape: shape.name)
def test_plans_may_change_at_any_time(shape: object, monkeypatch: pytest.MonkeyPatch) -> None:
    sql, name = getattr(shape, "sql"), getattr(shape, "name")  # noqa: B009
    expected, never = run(sql, name, "direct")
    chance = random.Random(name)

    def another(plan: Plan, current: Choice, shards: int, expiry: Expiry, statistics: Statistics) -> Choice | None:
        return chance.choice([offer.choice for offer in offers(plan, shards, expiry, statistics)])

    for place, value in (("FIRST", 7), ("LAST", 7), ("_is_far", lambda one, other: True), ("better", another)):
        monkeypatch.setattr(replan, place, value)
    changes, times = run(sql, name, "auto")
    assert changes == expected
    assert times > 1 and never == 0
