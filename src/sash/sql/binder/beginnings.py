"""A query begins as a whole: with the first row of any stream that it reads.

From then on every aggregate without GROUP BY has its row, also one in a subquery whose own streams are still empty:

    SELECT * FROM bids WHERE price > (SELECT COUNT(*) FROM asks)        bids before the first ask are compared with 0

So such an aggregate also reads the query's other streams, and nothing of them. A view is a query of its own. What a query
without FROM reads is an aggregate of nothing, too.
"""

from __future__ import annotations

from dataclasses import replace

from sash.logical.aggregates import AggregateCall, Function
from sash.logical.as_of import AsOf
from sash.logical.nodes import (
    Aggregate,
    Combination,
    Combine,
    Emit,
    Filter,
    Join,
    Minus,
    Plan,
    Project,
    Scan,
    Sequence,
    SingleRow,
    Window,
    WindowKind,
    WindowSpec,
    inputs,
    scans,
)
from sash.logical.rewrite import replaced
from sash.scalar.nodes import Literal
from sash.schema import BOOLEAN, Schema
from sash.sql.catalog import Catalog


def begin_together(plan: Plan, catalog: Catalog) -> Plan:
    """The plan of a query, its aggregates there from the beginning of the whole."""
    plan = _with_single_rows(plan)
    views = [view.plan for view in catalog.views.values()]
    known = {id(plan) for plan in views} | {id(plan.input) for plan in views if isinstance(plan, Emit)}
    return _begun(plan, _streams(plan), known)


def _begun(plan: Plan, streams: set[Scan], views: set[int]) -> Plan:
    if id(plan) in views or isinstance(plan, Scan | SingleRow):
        return plan
    if isinstance(plan, Join | AsOf | Combine | Minus | Sequence):
        left, right = _begun(plan.left, streams, views), _begun(plan.right, streams, views)
        return plan if left is plan.left and right is plan.right else replace(plan, left=left, right=right)  # type: ignore[arg-type]
    below = _begun(plan.input, streams, views)
    if isinstance(plan, Aggregate) and not plan.keys:
        for scan in sorted(streams - _streams(below), key=lambda scan: scan.name):
            below = Combine(below, _nothing(scan, below.schema), Combination.UNION_ALL)
    return plan if below is plan.input else replace(plan, input=below)  # type: ignore[arg-type]


def _with_single_rows(plan: Plan) -> Plan:
    """The plan with aggregates for its single rows, over something that it reads; a query that reads nothing keeps them."""
    read = sorted(scans(plan), key=lambda scan: (scan.is_table, scan.name))
    if not read or not _has_single_rows(plan):
        return plan
    schema = SingleRow().schema
    groups = Aggregate(_nothing(read[0], schema), (), (AggregateCall(Function.COUNT, None, None),), ("rows",))
    return replaced(plan, SingleRow(), Project(groups, (Literal(1, schema.types[0]),), schema.names))


def _has_single_rows(plan: Plan) -> bool:
    return isinstance(plan, SingleRow) or any(map(_has_single_rows, inputs(plan)))


def _nothing(scan: Scan, schema: Schema) -> Plan:
    """No row of a stream or table, in the columns of another schema."""
    nulls = tuple(Literal(None, type_) for type_ in schema.types)
    now = scan if scan.is_table else Window(scan, WindowSpec(WindowKind.NOW))
    return Project(Filter(now, Literal(False, BOOLEAN)), nulls, schema.names)


def _streams(plan: Plan) -> set[Scan]:
    return {scan for scan in scans(plan) if not scan.is_table}
