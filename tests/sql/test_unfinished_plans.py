"""References stand for values while a query is bound; a plan that still has one does not leave the binder."""

from __future__ import annotations

import pytest

import sash
from sash.plan.nodes import Filter, Join, Plan, Project, Scan, Window
from sash.plan.unnest import Unnest
from sash.plan.windows import UNBOUNDED
from sash.scalar import build
from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.scalar.nodes import Call, Column, Expression, Literal, Reference, columns, remap
from sash.schema import BOOLEAN, INT, array, schema
from sash.sql.bind import query
from sash.sql.bind.references import (
    AddedColumn,
    AggregateResult,
    OuterColumn,
    RightColumn,
    RightPlace,
    SubqueryResult,
    WindowResult,
    finished,
    key_of,
    placed,
)

INPUT = Scan("s", schema(("a", INT), ("is_there", BOOLEAN)), is_table=True)
REFERENCES: dict[type[Reference], Reference] = {
    OuterColumn: OuterColumn(BOOLEAN, "x", 0, Column(0, BOOLEAN, "x")),
    AggregateResult: AggregateResult(BOOLEAN, "x", 0),
    SubqueryResult: SubqueryResult(BOOLEAN, "x", 0),
    WindowResult: WindowResult(BOOLEAN, "x", 0),
    AddedColumn: AddedColumn(BOOLEAN, "x", 0),
    RightColumn: RightColumn(BOOLEAN, "x", RightPlace(0)),
}


def plans_with(part: Expression) -> list[Plan]:
    """Plans that have an expression somewhere."""
    inside = build.call("or", [part, Literal(False, BOOLEAN)])
    made = build.cast(build.call("array", [part]), array(BOOLEAN))
    return [
        Filter(INPUT, inside),
        Project(INPUT, (Column(0, INT, "a"), inside), ("a", "b")),
        Join(INPUT, INPUT, (), (), inside),
        Window(Scan("s", INPUT.schema), UNBOUNDED, inside),
        Unnest(INPUT, made, "e"),
        Project(Filter(INPUT, part), (Column(0, INT, "a"),), ("a",)),
    ]


def test_every_kind_of_reference_is_here() -> None:
    assert set(Reference.__subclasses__()) == REFERENCES.keys()


@pytest.mark.parametrize("kind", REFERENCES, ids=lambda kind: kind.__name__)
def test_a_plan_with_a_reference_is_not_finished(kind: type[Reference]) -> None:
    for plan in plans_with(REFERENCES[kind]):
        with pytest.raises(TypeError, match=f'{kind.__name__} "x" has no column'):
            finished(plan)


def test_a_plan_of_columns_is_finished() -> None:
    for plan in plans_with(Column(1, BOOLEAN, "is_there")):
        assert finished(plan) is plan


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=lambda one: type(one).__name__)
def test_who_reads_finished_plans_says_so(reference: Reference) -> None:
    expression = build.call("not", [reference])
    with pytest.raises(TypeError, match="is not finished"):
        list(columns(expression))
    with pytest.raises(TypeError, match="is not finished"):
        remap(expression, {0: 0})
    with pytest.raises(TypeError, match="is not finished"):
        evaluate(expression, {}, 1, Failures())


def test_a_query_whose_subquery_was_forgotten_does_not_become_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sash.connect()
    db.execute("CREATE TABLE s (a INT, is_there BOOLEAN)")
    monkeypatch.setattr(query, "bind_select", lambda *_: Filter(INPUT, REFERENCES[SubqueryResult]))
    with pytest.raises(TypeError, match='SubqueryResult "x" has no column: the plan that it is in is not finished'):
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT a FROM s WHERE is_there IN (SELECT is_there FROM s)")


def test_places_are_known_by_what_a_reference_says() -> None:
    """Two columns of the right side at one place are one, whatever they are called; what comes from outside has no place."""
    one, other = (RightColumn(BOOLEAN, name, RightPlace(3)) for name in ("p", "q"))
    assert key_of(one) == key_of(other) != key_of(RightColumn(BOOLEAN, "p", RightPlace(3, join=1)))
    outer = REFERENCES[OuterColumn]
    both = build.call("and", [other, outer])
    assert placed(both, {RightPlace(3): 7}) == Call("and", (Column(7, BOOLEAN, "q"), outer), BOOLEAN)
