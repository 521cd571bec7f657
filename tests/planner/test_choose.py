"""What is chosen depends on what is known of the streams; forced strategies are kept."""

from __future__ import annotations

from sash.database.embedded import EmbeddedDatabase
from sash.operators.expiry.spec import ExpireSpec
from sash.operators.join.spec import JoinSpec, SignedJoinSpec
from sash.operators.spec import parts
from sash.plan.nodes import Aggregate, Join, Plan, Scan, inputs, scans
from sash.plan.statistics import NOTHING_KNOWN, Statistics
from sash.planner.choose import Choice, choose, offers
from sash.planner.cost import Costs
from sash.planner.estimates import Estimates
from sash.planner.placement import Expiry

STREAMS = "\n".join(f"CREATE STREAM {name} (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts;" for name in "abc")
KEYS = [(name, column) for name in "abc" for column in ("k", "v")]


def known(rate: float, values: float, **rates: float) -> Statistics:
    return Statistics({"a": rate, "b": rate, "c": rate} | rates, distinct=dict.fromkeys(KEYS, values))


def bound(sql: str) -> Plan:
    db = EmbeddedDatabase()
    db.execute(f"{STREAMS} CREATE VIEW v AS {sql}")
    return db.catalog.views["v"].plan


def joins(choice: Choice, expiry: Expiry = Expiry.AUTO) -> set[str]:
    """How rows come to the joins."""
    spec, _ = choice.placed(1, expiry)
    found = [part for part in parts(spec) if isinstance(part, JoinSpec)]
    return {"negative" if isinstance(part, SignedJoinSpec) else "direct" for part in found}


COUNTED = bound("SELECT COUNT(*) AS n FROM a [RANGE 20 SECONDS] JOIN b [RANGE 20 SECONDS] ON a.k = b.k")


def test_many_equal_rows_are_joined_as_negative_rows() -> None:
    """Twenty thousand rows of two thousand values: a bag holds each value once, a log all rows, and all pairs would expire."""
    assert joins(choose(COUNTED, 1, Expiry.AUTO, known(1000, 2000))) == {"negative"}
    assert joins(choose(COUNTED, 1, Expiry.AUTO, known(1000, 1_000_000))) == {"direct"}
    assert joins(choose(COUNTED, 1, Expiry.AUTO)) == {"direct"}


def test_a_forced_strategy_is_kept() -> None:
    statistics = known(1000, 2000)
    assert joins(choose(COUNTED, 1, Expiry.DIRECT, statistics), Expiry.DIRECT) == {"direct"}
    assert joins(choose(COUNTED, 1, Expiry.NEGATIVE, statistics), Expiry.NEGATIVE) == {"negative"}


def test_rows_carry_their_expiry_below_a_join_of_negative_rows() -> None:
    """Direct below, negative above."""
    sql = (
        "SELECT COUNT(*) AS n FROM (SELECT a.k, a.v FROM a [RANGE 5 SECONDS] JOIN b [RANGE 5 SECONDS] ON a.v = b.v) x "
        "JOIN c [RANGE 60 SECONDS] ON x.k = c.k"
    )
    values = dict.fromkeys(KEYS, 50.0) | {("a", "v"): 1000.0, ("b", "v"): 1000.0}
    choice = choose(bound(sql), 1, Expiry.AUTO, Statistics({"a": 50, "b": 50, "c": 1000}, distinct=values))
    spec, _ = choice.placed(1, Expiry.AUTO)
    assert joins(choice) == {"direct", "negative"}
    (lower,) = [part for part in parts(spec) if isinstance(part, JoinSpec) and not isinstance(part, SignedJoinSpec)]
    assert not any(isinstance(part, ExpireSpec) for part in parts(lower))


def test_the_join_that_lets_little_through_comes_first() -> None:
    sql = (
        "SELECT a.v, b.v AS w, c.v AS x FROM a [RANGE 20 SECONDS] JOIN b [RANGE 20 SECONDS] ON a.k = b.k "
        "JOIN c [RANGE 20 SECONDS] ON a.k = c.k"
    )
    assert first_joined(choose(bound(sql), 1, Expiry.AUTO, known(100, 50))) == {"a", "b"}
    assert first_joined(choose(bound(sql), 1, Expiry.AUTO, known(100, 50, c=0.1))) in ({"a", "c"}, {"b", "c"})


def first_joined(choice: Choice) -> set[str]:
    """The streams below the lowest join."""
    lowest = min((plan for plan in _all(choice.plan) if isinstance(plan, Join)), key=lambda join: len(scans(join)))
    return {scan.name for scan in scans(lowest) if isinstance(scan, Scan)}


def _all(plan: Plan) -> list[Plan]:
    return [plan, *(one for child in inputs(plan) for one in _all(child))]


def test_distinct_goes_below_a_join_of_many_duplicates() -> None:
    sql = "SELECT DISTINCT a.k FROM a [RANGE 60 SECONDS] JOIN b [RANGE 60 SECONDS] ON a.k = b.k"
    few, many = (choose(bound(sql), 1, Expiry.DIRECT, known(100, values)) for values in (20, 1e7))
    assert not isinstance(few.plan, Aggregate) and isinstance(many.plan, Aggregate)


def test_what_runs_once_is_counted_once() -> None:
    plan = bound("SELECT x.v FROM a [RANGE 5 SECONDS] x JOIN a [RANGE 5 SECONDS] y ON x.k = y.k WHERE x.v > 1 AND y.v > 1")
    spec, _ = Choice(plan).placed(1, Expiry.DIRECT)
    costs = Costs(Estimates(NOTHING_KNOWN))
    assert costs.total(spec) == sum(costs.of(part).work for part in parts(spec))
    assert len([part for part in parts(spec) if type(part).__name__ == "TimeWindowSpec"]) == 1


def test_the_plan_as_written_is_the_first_offer() -> None:
    (first, *others) = offers(COUNTED, 1, Expiry.AUTO)
    assert first.choice.signed_joins == frozenset() and len(others) == 1
