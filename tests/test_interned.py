"""Equal nodes are one object, wherever they come from."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace

import pyarrow as pa

import sash
from sash.interned import _KNOWN
from sash.plan.nodes import Filter, Join, Plan, Scan, parts
from sash.scalar.nodes import Column, Literal
from sash.schema import BOOLEAN, DOUBLE, INT, Field, Schema

SCAN = Scan("s", Schema((Field("x", INT),)))


def test_equal_nodes_are_one() -> None:
    again = Scan("s", Schema((Field("x", INT),)))
    assert again is SCAN
    assert replace(SCAN, name="t") is not SCAN
    assert Filter(again, Literal(True, BOOLEAN)) is Filter(SCAN, Literal(True, BOOLEAN))


def test_a_copy_from_elsewhere_is_the_node_that_is_here() -> None:
    plan = Join(SCAN, Filter(SCAN, Literal(True, BOOLEAN)), (0,), (0,))
    assert pickle.loads(pickle.dumps(plan)) is plan


def test_zeros_of_both_signs_are_told_apart() -> None:
    assert Literal(0.0, DOUBLE) is not Literal(-0.0, DOUBLE)
    assert Literal(1, INT) is not Literal(True, BOOLEAN)
    assert Literal(float("nan"), DOUBLE) is Literal(float("nan"), DOUBLE)
    assert Column(0, INT, "a") is not Column(0, INT, "b")


def test_a_plan_that_reads_itself_often_has_few_parts() -> None:
    plan: Plan = SCAN
    for _ in range(200):
        plan = Join(plan, plan, (0,), (0,))
        plan = Filter(plan, Literal(True, BOOLEAN)) if len(plan.schema) > 4 else plan
        plan = replace(plan.input, left=SCAN) if isinstance(plan, Filter) else plan
    assert len(parts(plan)) <= 202


def test_functions_of_one_name_in_two_databases_are_two() -> None:
    answers = []
    for more in (1, 100):
        db = sash.connect()
        db.register("shifted", lambda x, more=more: pa.array([v.as_py() + more for v in x]), "BIGINT", ["BIGINT"])
        db.execute("CREATE STREAM s (x BIGINT); CREATE MATERIALIZED VIEW v AS SELECT shifted(x) AS y FROM s")
        db.push("s", [{"x": 1}])
        answers.append(db.view("v").to_arrow()["y"].to_pylist())
    assert answers == [[2], [101]]


def test_a_view_is_a_query_of_its_own_though_another_writes_the_same() -> None:
    """What a query reads of a view begins with the view, what it writes out itself begins with the query."""
    changes = []
    for other in ("", "CREATE MATERIALIZED VIEW same AS SELECT COUNT(*) AS n FROM b;"):
        db = sash.connect()
        db.execute("CREATE STREAM a (ts TIMESTAMP, x INT) TIMESTAMP BY ts; CREATE STREAM b (ts TIMESTAMP, x INT) TIMESTAMP BY ts;" + other)
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT x FROM a WHERE x > (SELECT COUNT(*) AS n FROM b)")
        db.push("a", [{"ts": "2024-01-01 00:00:00", "x": 1}])
        db.advance("2024-01-01 00:00:10")
        changes.append(db.changes("v").to_pylist())
    assert changes[0] == changes[1]
    assert len(changes[0]) == 1


def test_plans_of_views_that_are_gone_are_forgotten() -> None:
    """What is remembered about nodes that stay, such as those of streams, does not hold the plans that read them."""
    _come_and_go(range(20))
    before = len(_KNOWN)
    _come_and_go(range(20, 120))
    assert len(_KNOWN) < before + 50


def _come_and_go(numbers: range) -> None:
    db = sash.connect()
    db.execute("CREATE STREAM kept (ts TIMESTAMP, x INT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW one AS SELECT x FROM kept [NOW]")
    for number in numbers:
        db.execute(
            f"CREATE MATERIALIZED VIEW v AS SELECT a.x + {number} AS y, (SELECT COUNT(*) FROM kept [ROWS {number + 1}]) AS n "
            f"FROM kept [RANGE 5 SECONDS] a JOIN kept [RANGE {number + 1} SECONDS] b ON a.x = b.x WHERE b.x <> {number}"
        )
        db.push("kept", [(number, 1)])
        db.execute("DROP VIEW v")
    db.close()
    gc.collect()
