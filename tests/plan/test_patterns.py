"""Every pattern that the rules claim is what the changes of an edge really show, and no simpler one would do."""

from __future__ import annotations

import pytest
from watching import (
    DECLARATIONS,
    SECOND,
    Event,
    is_by_count,
    is_by_key,
    is_by_time,
    is_in_order,
    is_monotonic,
    lifetimes,
    make_events,
    run,
)

from sash.database.embedded import EmbeddedDatabase
from sash.plan.patterns import Leaving, Pattern, Signal
from sash.plan.propagation import leaving
from sash.testing.values import moment

R, S = "a [RANGE 6 SECONDS]", "b [RANGE 6 SECONDS]"

CLAIMS = {
    # streams
    "SELECT * FROM a": "monotonic",
    "SELECT id FROM a WHERE v > 2": "monotonic",
    "SELECT a.id, b.id AS other FROM a JOIN b ON a.k = b.k": "monotonic",
    "SELECT DISTINCT k FROM a": "monotonic",
    "SELECT * FROM ISTREAM(SELECT k, COUNT(*) AS n FROM a [RANGE 6 SECONDS] GROUP BY k)": "monotonic",
    "SELECT a.id, b.id AS other FROM a FOLLOWED BY b USING RECENT ON a.k = b.k": "monotonic",
    "SELECT id, name FROM a JOIN lookup l ON a.k = l.k": "monotonic",
    # rule 1
    f"SELECT * FROM {R}": "weakest, by time",
    "SELECT id FROM a [NOW]": "weakest, by time",
    "SELECT id, v + 1 AS w FROM a [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE v > 2": "weakest, by time",
    "SELECT a.id, b.id AS other FROM a FOLLOWED BY b USING CHRONICLE ON a.k = b.k [RANGE 6 SECONDS]": "weakest, by time",
    f"SELECT id, name FROM {R} JOIN lookup l ON a.k = l.k WHERE v > 1": "weakest, by time",
    # rule 2
    f"SELECT id FROM {R} UNION ALL SELECT id FROM {S}": "weakest, by time",
    f"SELECT id FROM {R} UNION ALL SELECT id FROM b [RANGE 3 SECONDS]": "weak, by time",
    f"SELECT id FROM {R} UNION ALL SELECT id FROM b [ROWS 3]": "strict",
    # rule 3
    f"SELECT a.id, b.id AS other FROM {R} JOIN {S} ON a.k = b.k AND a.v <= b.v": "weak, by time",
    f"SELECT a.id, b.id AS other FROM {R} JOIN b ON a.k = b.k": "weak, by time",
    f"SELECT a.id, name FROM {R} JOIN steady s ON a.k = s.k": "weak, by time",
    f"SELECT DISTINCT k FROM {R}": "weak, by time",
    f"SELECT k FROM {R} UNION SELECT k FROM {S}": "weak, by time",
    f"SELECT v FROM {R} INTERSECT ALL SELECT v FROM {S}": "weak, by time",
    f"SELECT v FROM {R} INTERSECT SELECT v FROM {S}": "weak, by time",
    f"SELECT id FROM {R} WHERE k IN (SELECT k FROM b [RANGE 4 SECONDS])": "weak, by time",
    f"SELECT x.k, y.k AS other FROM (SELECT DISTINCT k, v FROM {R}) x JOIN (SELECT DISTINCT k, v FROM {S}) y ON x.v = y.v":
        "weak, by time",
    # rule 4
    f"SELECT k, COUNT(*) AS n, SUM(v) AS s FROM {R} GROUP BY k": "weak, by key",
    f"SELECT COUNT(*) AS n FROM {R}": "weak, by key",
    "SELECT k, COUNT(*) AS n FROM a [ROWS 4] GROUP BY k HAVING COUNT(*) > 1": "weak, by key",
    f"SELECT k, COUNT(*) AS n FROM (SELECT k FROM {R} EXCEPT SELECT k FROM {S}) GROUP BY k": "weak, by key",
    f"SELECT n FROM (SELECT k, COUNT(*) AS n FROM {R} GROUP BY k)": "strict",
    # rule 5
    f"SELECT id FROM {R} MINUS {S} ON a.k = b.k": "strict",
    f"SELECT k FROM {R} EXCEPT SELECT k FROM {S}": "strict",
    f"SELECT v FROM {R} EXCEPT ALL SELECT v FROM {S}": "strict",
    f"SELECT id FROM {R} WHERE NOT EXISTS (SELECT 1 FROM {S} WHERE b.k = a.k)": "strict",
    f"SELECT id, name FROM {R} JOIN changing c ON a.k = c.k": "strict",
    f"SELECT a.id, b.id AS other FROM {R} LEFT JOIN {S} ON a.k = b.k": "strict",
    f"SELECT a.id, b.id AS other FROM {R} FULL JOIN {S} ON a.k = b.k": "strict",
    # count windows
    "SELECT * FROM a [ROWS 5]": "weakest, by count",
    "SELECT id FROM a [ROWS 5] WHERE v > 2": "weakest, by count",
    "SELECT id, v FROM a [ROWS 6 SLIDE 2]": "weakest, by count",
    "SELECT DISTINCT k FROM a [ROWS 5] WHERE k <> 'strange'": "weak, by count",
    "SELECT x.id, y.id AS other FROM a [ROWS 5] x JOIN a [ROWS 3] y ON x.k = y.k": "weak, by count",
    "SELECT a.id, b.id AS other FROM a [ROWS 5] JOIN b ON a.k = b.k": "weak, by count",
    "SELECT a.id, b.id AS other FROM a [ROWS 5] JOIN b [ROWS 5] ON a.k = b.k": "strict",
    f"SELECT a.id, b.id AS other FROM a [ROWS 5] JOIN {S} ON a.k = b.k": "strict",
    "SELECT k, id FROM a [PARTITION BY k ROWS 2]": "weak, by key",
    "SELECT k, id FROM a [PARTITION BY k ROWS 2] WHERE k <> 'x'": "weak, by key",
    "SELECT k, id FROM a [PARTITION BY k ROWS 1] WHERE v > 2": "weak, by key",
    "SELECT k, id FROM a [PARTITION BY k ROWS 2] WHERE v > 2": "strict",
    "SELECT id FROM a [PARTITION BY k ROWS 2]": "strict",
    # top-k
    f"SELECT id, v FROM {R} ORDER BY v DESC, id LIMIT 3": "strict",
    f"SELECT k, id FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n FROM {R}) WHERE n = 1": "weak, by key",
    # views on views
    f"SELECT * FROM (SELECT a.id, b.id AS other FROM {R} JOIN {S} ON a.k = b.k) [RANGE 3 SECONDS]": "weakest, by time",
}  # fmt: skip

EVENTS = [make_events(seed) for seed in (1, 2)]


def claim(query: str) -> Leaving:
    db = EmbeddedDatabase()
    db.execute(f"{DECLARATIONS} CREATE VIEW v AS {query}")
    return leaving(db.catalog.views["v"].plan)


@pytest.mark.parametrize("query", CLAIMS)
def test_rules_claim(query: str) -> None:
    assert str(claim(query)) == CLAIMS[query]


@pytest.mark.parametrize("query", CLAIMS)
def test_changes_are_as_claimed(query: str) -> None:
    claimed = claim(query)
    for events in EVENTS:
        changes = run(query, events)
        assert changes
        if claimed.pattern is Pattern.MONOTONIC:
            assert is_monotonic(changes)
        if claimed.pattern is Pattern.WEAKEST:
            assert is_in_order(changes)
        if claimed.lifetime is not None:
            assert lifetimes(changes) == {claimed.lifetime}
        if claimed.signal is Signal.TIME:
            assert is_by_time(query, events)
        if claimed.signal is Signal.COUNT:
            assert is_by_count(query, events, "a")
        if claimed.signal is Signal.KEY:
            assert is_by_key(changes, claimed.key, claimed.most)


@pytest.mark.parametrize("query", [query for query, claimed in CLAIMS.items() if claimed != "monotonic"])
def test_no_simpler_pattern_would_do(query: str) -> None:
    claimed = claim(query)
    runs = [(events, run(query, events)) for events in EVENTS]
    assert not all(is_monotonic(changes) for _, changes in runs)
    if "id" in query and claimed.pattern > Pattern.WEAKEST and claimed.signal is not Signal.KEY:
        assert not all(is_in_order(changes) for _, changes in runs)
    if claimed.signal in (Signal.COUNT, Signal.KEY, Signal.NEGATIVE):
        assert not all(is_by_time(query, events) for events, _ in runs)
    if claimed.signal in (Signal.KEY, Signal.NEGATIVE):
        assert not all(is_by_count(query, events, "a") for events, _ in runs)


def test_a_hidden_row_of_the_key_pushes_a_visible_one_out() -> None:
    """Why a filter over a partitioned window is strict where its partitions have several rows."""
    query = "SELECT k, id FROM a [PARTITION BY k ROWS 2] WHERE v > 2"
    assert not all(is_by_key(run(query, events), (0,), 2) for events in EVENTS)


def test_the_watcher_sees_the_first_figure_of_joins() -> None:
    """Two pairs of which the younger leaves first (seed 003, figure 5)."""
    rows = [("a", 1, "u"), ("a", 2, "t"), ("b", 3, "t"), ("b", 4, "u")]
    events = [Event(second, where, (moment(second * SECOND), place, k, 0)) for place, (where, second, k) in enumerate(rows)]
    changes = run(f"SELECT a.id, b.id AS other FROM {R} JOIN {S} ON a.k = b.k", events)
    assert [(change.op, change.ts // SECOND, change.row) for change in changes] == [
        (1, 3, (1, 2)), (1, 4, (0, 3)), (-1, 7, (0, 3)), (-1, 8, (1, 2)),
    ]  # fmt: skip
    assert not is_in_order(changes)
