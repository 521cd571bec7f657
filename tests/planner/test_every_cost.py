"""Every operator has a price and an estimate of its own: nothing is taken for something else."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.operators.cost import Cost
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import PortSpec, Spec, UnarySpec, parts
from sash.operators.windows.spec import window_spec
from sash.plan.patterns import NEVER, Leaving, Pattern, Signal
from sash.plan.statistics import NOTHING_KNOWN
from sash.plan.windows import SHAPES, WindowShape
from sash.planner.cost import Costs
from sash.planner.estimates import Estimates
from sash.schema import INT, Field, Schema

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, x INT, y INT, l ARRAY<INT>) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, x INT, y INT) TIMESTAMP BY ts;
CREATE STREAM c (ts TIMESTAMP, x INT, y INT, sign INT) TIMESTAMP BY ts;
CREATE TABLE t (x INT, y INT, at TIMESTAMP);
CREATE TABLE n (x INT, y INT) NON RETROACTIVE;
CREATE TABLE m (x INT, y INT) WITH (changes = 'c', sign = 'sign');
"""
QUERIES = (
    "SELECT DISTINCT x FROM a [RANGE 1 MINUTE]",
    "SELECT x, y + 1 AS z FROM a [RANGE 1 MINUTE SLIDE 10 SECONDS] WHERE y > 1",
    "SELECT x FROM a [ROWS 10]",
    "SELECT x FROM a [PARTITION BY x ROWS 10]",
    "SELECT x FROM a [PARTITION BY x SESSION GAP 10 SECONDS]",
    "SELECT a.x FROM a [RANGE 1 MINUTE] JOIN b [RANGE 1 MINUTE] ON a.x = b.x",
    "SELECT a.x, COUNT(*) AS c FROM a [RANGE 1 MINUTE] JOIN b [RANGE 1 MINUTE] ON a.x = b.x GROUP BY a.x",
    "SELECT a.x FROM a [ROWS 5] JOIN b [RANGE 1 MINUTE] ON a.x = b.x",
    "SELECT a.x FROM a [RANGE 1 MINUTE] JOIN n ON a.x = n.x",
    "SELECT a.x FROM a [ROWS 5] JOIN n ON a.x = n.x",
    "SELECT x, COUNT(*) AS c FROM a [RANGE 1 MINUTE] GROUP BY x",
    "SELECT x, COUNT(*) AS c FROM a [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY x",
    "SELECT x, MIN(y) AS c FROM a [RANGE 1 MINUTE] GROUP BY x",
    "SELECT x, MIN(CAST(y AS STRING)) AS c FROM a [RANGE 1 MINUTE] GROUP BY x",
    "SELECT x, MEDIAN(y) AS c FROM a [RANGE 1 MINUTE] GROUP BY x",
    "SELECT x FROM a [RANGE 1 MINUTE] UNION ALL SELECT x FROM b [RANGE 2 MINUTES]",
    "SELECT x FROM a [RANGE 1 MINUTE] EXCEPT SELECT x FROM b [RANGE 2 MINUTES]",
    "SELECT * FROM b [RANGE 1 MINUTE] MINUS b [RANGE 2 MINUTES] AS b2 ON b.x = b2.x",
    "SELECT x FROM a [RANGE 1 MINUTE] ORDER BY x LIMIT 3",
    "SELECT x, COUNT(*) OVER (PARTITION BY y ORDER BY x) AS c FROM a [RANGE 1 MINUTE]",
    "SELECT a.x FROM a FOLLOWED BY b USING RECENT ON a.x = b.x",
    "SELECT x FROM ISTREAM(SELECT x FROM a [RANGE 1 MINUTE]) [RANGE 1 MINUTE]",
    "SELECT x FROM DSTREAM(SELECT x FROM a [RANGE 1 MINUTE]) [RANGE 1 MINUTE]",
    "SELECT x FROM RSTREAM(SELECT x FROM a [RANGE 1 MINUTE]) [RANGE 1 MINUTE]",
    "SELECT x FROM a [RANGE 1 MINUTE] EMIT EVERY 1 MINUTE",
    "SELECT e FROM a [RANGE 1 MINUTE], UNNEST(l) AS u(e)",
    "SELECT x FROM a [RANGE 1 MINUTE] WHERE ts > NOW() - INTERVAL 10 SECONDS",
    "SELECT x, DATE_TRUNC('MINUTE', NOW()) AS m FROM a [RANGE 1 MINUTE]",
    "SELECT a.x, b.y FROM a [RANGE 1 MINUTE] ASOF JOIN b [RANGE 1 MINUTE] ON a.x = b.x AND a.ts >= b.ts",
    "SELECT a.x FROM a [RANGE 1 MINUTE] JOIN t ON a.x = t.x",
    "SELECT a.x FROM a [RANGE 1 MINUTE] JOIN m ON a.x = m.x",
    "SELECT x FROM ISTREAM(SELECT x, y FROM t) [RANGE 1 MINUTE]",
)
STRATEGIES = ("auto", "direct", "negative", "time-message", "piggyback", "input-triggered")


def specs_of(expiry: str) -> set[Spec]:
    db = EmbeddedDatabase(expiry=expiry)
    db.execute(STREAMS)
    found: set[Spec] = set()
    for number, sql in enumerate(QUERIES):
        db.execute(f"CREATE MATERIALIZED VIEW v{number} AS {sql}")
    for shards in (1, 2):
        for view in db.planned(shards).views:
            found |= parts(view.spec).keys()
    return found


def concrete(kind: type[Spec]) -> set[type[Spec]]:
    """Those that can be made."""
    own = set() if inspect.isabstract(kind) else {kind}
    return own.union(*map(concrete, kind.__subclasses__()))


def test_every_operator_has_a_price() -> None:
    costs, met = Costs(Estimates(NOTHING_KNOWN)), set()
    for expiry in STRATEGIES:
        for spec in specs_of(expiry):
            cost = costs.of(spec)
            assert 0 <= cost.work < float("inf")
            assert 0 <= cost.kept < float("inf")
            met |= {type(spec), type(spec.shared)}  # what runs several taps has no price besides theirs
    assert {kind.__name__ for kind in concrete(Spec) - met if kind.__module__.startswith("sash.")} == set()


@dataclass(frozen=True)
class NewSpec(UnarySpec):
    """An operator of which nobody has said anything yet."""


FACETS = {
    "pattern": Pattern.STRICT, "lifetime": None, "all_leave": False, "keeps": "", "lookback": NO_LOOKBACK, "needs_exact_departures": False,
    "estimate": lambda self, *inputs: inputs[0], "cost": lambda self, inputs, output: Cost(0.0, 0.0), "build": lambda self, context: None,
}  # fmt: skip
PORT = PortSpec(1, Schema((Field("x", INT),)), Pattern.MONOTONIC, (), "s")


def test_the_facets_of_a_spec_are_known() -> None:
    assert Spec.__abstractmethods__ == {*FACETS, "inputs", "schema"}
    assert dataclass(frozen=True)(type("WholeSpec", (NewSpec,), dict(FACETS)))(PORT).title == "Whole"


@pytest.mark.parametrize("missing", FACETS)
def test_an_operator_that_lacks_a_facet_cannot_be_made(missing: str) -> None:
    said = {name: facet for name, facet in FACETS.items() if name != missing}
    kind = dataclass(frozen=True)(type("HalfSpec", (NewSpec,), said))
    with pytest.raises(TypeError, match=f"abstract.*{missing}"):
        kind(PORT)


def test_a_join_as_of_costs_more_than_a_union() -> None:
    db = EmbeddedDatabase()
    db.execute(STREAMS)
    w = "[RANGE 1 MINUTE]"
    as_of = f"SELECT a.x, b.y FROM a {w} ASOF JOIN b {w} ON a.x = b.x AND a.ts >= b.ts"
    union = f"SELECT x, y FROM a {w} UNION ALL SELECT x, y FROM b {w}"
    assert price(db, as_of, "AsOf") > 5 * price(db, union, "UnionAll")


def price(db: EmbeddedDatabase, sql: str, operator: str) -> float:
    """The last column of the line that EXPLAIN has for an operator."""
    _, table = db.explain(sql).split("\n\n")
    return next(float(line.split()[-1].replace(",", "")) for line in table.splitlines() if operator in line.split())


@dataclass(frozen=True)
class NewWindow(WindowShape):
    """A window that no operator holds yet."""

    goes_by_time = True
    is_spread_anyhow = True

    def leaving(self, stream: object) -> Leaving:
        return NEVER

    def lets_through(self, columns: object) -> bool:
        return False


def test_a_window_without_an_operator_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="NewWindow"):
        window_spec(NewWindow(5), PORT)


def test_every_window_has_an_operator_that_says_how_rows_leave() -> None:
    """As the plan says it: what leaves by time carries its expiry, what leaves otherwise is signed."""
    for shape in SHAPES:
        window = shape(10)
        assert (window_spec(window, PORT).pattern is Pattern.STRICT) == (window.leaving(PORT).signal in (Signal.COUNT, Signal.KEY, Signal.NEGATIVE))
