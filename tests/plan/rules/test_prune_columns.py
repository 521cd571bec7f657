"""Columns that nobody reads are dropped early; what is read is found again."""

from __future__ import annotations

from sash.plan.aggregates import AggregateCall, Function
from sash.plan.nodes import Aggregate, Project, Scan, Window
from sash.plan.rules.prune_columns import prune_columns
from sash.plan.windows import UnboundedWindow
from sash.schema import BIGINT, DOUBLE, STRING, schema


def test_both_columns_of_an_aggregate_are_kept() -> None:
    columns = schema(("unused", BIGINT), ("key", STRING), ("other", STRING), ("price", DOUBLE), ("name", STRING))
    window = Window(Scan("s", columns), UnboundedWindow())
    call = AggregateCall(Function.MAX_BY, 4, STRING, second=3, second_type=DOUBLE)
    pruned = prune_columns(Aggregate(window, (1,), (call,), ("key", "best")))
    assert isinstance(pruned, Aggregate) and isinstance(pruned.input, Project)
    assert pruned.input.names == ("key", "price", "name")
    assert pruned.keys == (0,)
    assert pruned.calls == (AggregateCall(Function.MAX_BY, 2, STRING, second=1, second_type=DOUBLE),)
