"""Metrics count what really went through the plan."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

import sash
from sash.operators.delays import Delays

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
"""
JOIN = "CREATE MATERIALIZED VIEW v AS SELECT a.v, b.v AS w FROM a [RANGE 4 SECONDS] JOIN b [RANGE 6 SECONDS] ON a.k = b.k;"


def rows(seed: int, count: int = 40) -> list[tuple[object, ...]]:
    chance = random.Random(seed)
    return [(second, chance.choice("xyz"), second) for second in sorted(chance.choices(range(60), k=count))]


def played(sql: str, expiry: str = "auto") -> sash.Database:
    db = sash.connect(expiry=expiry)
    db.execute(STREAMS + sql)
    for name, part in (("a", rows(1)), ("b", rows(2))):
        db.push(name, part[:20])
        db.push(name, part[20:])
    db.advance("1970-01-01 00:05:00")
    return db


def operator(metrics: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in metrics["operators"] if one["operator"] == name)


def test_rows_through_arcs_by_sign() -> None:
    db = played(JOIN)
    metrics = db.metrics()
    join = operator(metrics, "LeavingJoin")
    assert [arc["positive"] for arc in join["arcs"]] == [40, 40] and join["probes"] == 160  # when a row comes, and when it leaves
    signs = db.changes("v").column("_op").to_pylist()
    assert 0 < join["out"]["positive"] <= signs.count(1) and 0 < join["out"]["negative"] <= signs.count(-1)  # equal rows as one
    assert join["out"]["messages"] == 0
    assert metrics["views"]["v"]["changes"] == db.changes("v").num_rows
    assert metrics["views"]["v"]["delay"]["wall_time"]["count"] == db.changes("v").num_rows
    assert json.loads(json.dumps(metrics)) == metrics


def test_negative_rows_double_the_work_of_a_join() -> None:
    assert operator(played(JOIN, "negative").metrics(), "SignedJoin")["probes"] == 160


def test_state_is_counted_and_goes() -> None:
    db = sash.connect()
    db.execute(STREAMS + "CREATE MATERIALIZED VIEW v AS SELECT k FROM a [RANGE 4 SECONDS]; ")
    db.push("a", [(second, "x", 1) for second in range(4)])
    db.advance("1970-01-01 00:00:03.5")
    kept = operator(db.metrics(), "Expire")
    assert kept["state_rows"] == 4 and kept["state_bytes"] > 0
    db.advance("1970-01-01 00:01:00")
    assert operator(db.metrics(), "Expire")["state_rows"] == 0


def test_counts_survive_a_later_view() -> None:
    db = played(JOIN)
    before = operator(db.metrics(), "LeavingJoin")["arcs"]
    db.execute("CREATE MATERIALIZED VIEW w AS SELECT COUNT(*) AS n FROM a [ROWS 3]")
    assert operator(db.metrics(), "LeavingJoin")["arcs"] == before


def test_what_is_held_back_is_late() -> None:
    db = played("CREATE MATERIALIZED VIEW v AS SELECT k FROM a [RANGE 4 SECONDS] EMIT EVERY 10 SECONDS;")
    late = db.metrics()["views"]["v"]["delay"]["event_time"]
    assert 0 < late["average"] < late["maximum"] < 10


def test_delays_are_added_and_kept() -> None:
    delays, other = Delays(), Delays()
    delays.add(np.array([0, 1, 1_000_000]))
    delays.add_none(97)
    other.add(np.array([5_000_000]), 2)
    delays.merge(Delays.unpacked(json.loads(json.dumps(other.packed()))))
    told = delays.summary()
    assert told["count"] == 102 and told["maximum"] == 5 and told["p50"] == 0
    assert abs(told["average"] - 11.000001 / 102) < 1e-9
    assert Delays().summary()["p99"] == 0
    exact = np.arange(1, 100_000)
    many = Delays()
    many.add(exact)
    assert abs(many.percentile(90) / 90_000 - 1) < 0.1
