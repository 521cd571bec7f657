"""Which joins have their conditions above a common one: as was measured (docs/decisions/0125), and while views come and go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import sash
from sash.operators.spec import Spec, parts
from sash.plan.statistics import Statistics
from sash.planner.join_sharing import JoinSharing, Seen

STREAMS = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT, a BIGINT) TIMESTAMP BY ts;" + (
    "CREATE STREAM r (ts TIMESTAMP, k BIGINT, w BIGINT, b BIGINT) TIMESTAMP BY ts;"
)
VALUES = {"k": 5000.0}  # of other columns: a thousand
KNOWN = Statistics({"s": 1e4, "r": 1e4}, distinct={(x, c): VALUES.get(c, 1000.0) for x in "sr" for c in "kvwab"})
Part = Callable[[float], str]


def query(condition: str, select: str = "s.k, s.a, r.b", seconds: int = 2) -> str:
    return f"SELECT {select} FROM s [RANGE {seconds} SECONDS] JOIN r [RANGE {seconds} SECONDS] ON s.k = r.k WHERE {condition}"


def specs(*queries: str) -> list[Spec]:
    db = sash.connect()
    db.execute(STREAMS + "".join(f"CREATE MATERIALIZED VIEW q{place} AS {sql};" for place, sql in enumerate(queries)))
    return [db.queries.views[f"q{place}"].spec for place in range(len(queries))]


def sharing(plans: list[Spec], share: Callable[[float], float]) -> JoinSharing:
    """Of views whose filters let such a share of rows through, by the share of the views that come before."""
    found, shares = JoinSharing(), dict[str, float]()
    for place, spec in enumerate(plans):
        found.add(f"q{place}", spec, None)
        shares |= {one.fingerprint: share(place / len(plans)) for one in parts(spec) if type(one).__name__ == "FilterSpec"}
    found.judged_anew(Seen(KNOWN, shares))
    return found


def above(found: JoinSharing, count: int) -> int:
    return sum(bool(found.of(f"q{place}")) for place in range(count))


CASES: tuple[tuple[int, Part, Callable[[float], float], bool], ...] = (
    (100, lambda share: f"s.v = {1000 * share:.0f}", lambda share: 0.001, True),
    (20, lambda share: f"s.v = {1000 * share:.0f}", lambda share: 0.001, False),
    (100, lambda share: f"s.v > {990 - 90 * share:.0f}", lambda share: 0.01 + 0.09 * share, True),
    (100, lambda share: f"s.v > {1000 * share:.0f}", lambda share: 1 - share, True),
    (12, lambda share: f"s.v > {1000 * share:.0f}", lambda share: 1 - share, True),
    (4, lambda share: f"s.v > {1000 * share:.0f}", lambda share: 1 - share, False),
    (100, lambda share: f"s.v > {900 - 100 * share:.0f} AND r.w > {900 - 100 * share:.0f}", lambda share: 0.1 + share / 10, False),
    (2, lambda share: f"s.v > {990 - 90 * share:.0f}", lambda share: 0.01 + 0.09 * share, False),
)


@pytest.mark.parametrize(("views", "condition", "share", "is_above"), CASES)
def test_joins_go_where_they_were_measured_to_be_cheaper(
    views: int, condition: Part, share: Callable[[float], float], is_above: bool
) -> None:
    found = sharing(specs(*(query(condition(place / views)) for place in range(views))), share)
    assert (above(found, views) > 0.8 * views) is is_above
    assert is_above or not above(found, views)


def test_nothing_moves_before_streams_were_seen() -> None:
    found = JoinSharing()
    assert not any(found.add(f"q{place}", spec, None) for place, spec in enumerate(specs(*map(query, ("s.v > 1", "s.v > 2")))))
    half = Seen(Statistics({"s": 1e4}), {})
    assert not found.judged_anew(half) and not above(found, 2)


def test_views_come_onto_a_join_that_runs_and_the_last_one_leaves_it() -> None:
    plans = specs(*(query(f"s.v > {place}") for place in range(30)), query("s.v > 500", "s.a"), query("s.v > 3", seconds=9))
    found = sharing(plans[:30], lambda share: 1.0)
    assert above(found, 30) == 30
    assert found.add("q30", plans[30], Seen(KNOWN, {})) == {"q30"}  # it wants other columns
    found.add("q31", plans[31], Seen(KNOWN, {}))  # another window of the same join
    gone = [found.remove(f"q{place}") for place in range(31)]
    assert any(gone) and not above(found, 32)


def test_columns_alone_may_differ() -> None:
    selects = ("s.k, s.a", "s.k, r.b", "s.a, r.b", "s.a", "s.v, r.w", "s.v", "r.w, s.a", "r.b", "r.w", "s.k")
    plans = specs(*(query("s.k > 0", select).replace(" WHERE s.k > 0", "") for select in selects))
    assert above(sharing(plans, lambda share: 1.0), len(plans)) == len(plans)
