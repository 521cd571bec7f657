"""Aggregate calls, collected while the expressions around them are bound.

A call becomes a column numbered after those of the inputs: `SUM(a) / COUNT(*)` is a division of two such columns.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sash.errors import SqlError, choices
from sash.logical.nodes import AggregateCall, Function
from sash.scalar import build
from sash.scalar.nodes import Column, Expression, Literal
from sash.schema import DOUBLE, STRING, Type
from sash.sql.binder.support import not_yet
from sash.sql.places import fault

INSIDE = "an aggregate"  # the clause of an aggregate's argument
_FUNCTIONS = {
    "count": Function.COUNT,
    "sum": Function.SUM,
    "avg": Function.AVG,
    "mean": Function.AVG,
    "min": Function.MIN,
    "max": Function.MAX,
}
_LATER = frozenset(
    """
    any any_value approx_count_distinct approx_percentile array_agg bool_and bool_or collect_list collect_set corr
    count_if covar_pop covar_samp every first first_value kurtosis last last_value listagg max_by median min_by mode
    percentile percentile_approx skewness some std stddev stddev_pop stddev_samp string_agg var_pop var_samp variance
    """.split()  # noqa: SIM905
)


def is_aggregate(name: str) -> bool:
    return name in _FUNCTIONS or name in _LATER


def misplaced(node: exp.Expr, clause: str) -> SqlError:
    """The fault of an aggregate where there can be none."""
    if clause == INSIDE:
        return fault(node, "an aggregate cannot be inside another one", "compute the inner one in a subquery")
    hint = "use HAVING" if clause == "WHERE" else None
    return fault(node, f"an aggregate is not allowed in {clause}", hint)


class Aggregates:
    """The aggregate calls of a query; equal calls are one."""

    def __init__(self, first: int) -> None:
        self.first = first  # the number of the first call's column
        self.calls: list[tuple[Function, Expression | None]] = []
        self.columns: list[Column] = []

    def add(self, node: exp.Anonymous, bind: Callable[[exp.Expr], Expression]) -> Column:
        """The column of a call; `bind` binds its argument."""
        function = _function(node)
        call = (function, _argument(node, function, bind))
        if call not in self.calls:
            name = str(node.sql(dialect="spark"))
            self.columns.append(Column(self.first + len(self.calls), _result_type(*call), name))
            self.calls.append(call)
        return self.columns[self.calls.index(call)]


def _result_type(function: Function, argument: Expression | None) -> Type:
    return AggregateCall(function, None, argument.type if argument else None).type


def _function(node: exp.Anonymous) -> Function:
    name = node.name.lower()
    if name in _LATER:
        names = choices(function.value for function in Function)
        raise fault(node, f"the aggregate {name.upper()} is not supported yet", f"aggregates are: {names}")
    return _FUNCTIONS[name]


def _argument(node: exp.Anonymous, function: Function, bind: Callable[[exp.Expr], Expression]) -> Expression | None:
    given = node.expressions
    if len(given) == 1 and isinstance(given[0], exp.Distinct):
        raise not_yet(node, f"{function.value}(DISTINCT ...)")
    if len(given) != 1:
        raise fault(node, f"{function.value} takes one argument, not {len(given)}")
    if isinstance(given[0], exp.Star):
        if function is not Function.COUNT:
            raise fault(node, f"{function.value}(*) does not exist", "name a column; only COUNT takes *")
        return None
    argument = bind(given[0])
    if function is Function.COUNT:
        return None if isinstance(argument, Literal) and argument.value is not None else argument
    return argument if function in (Function.MIN, Function.MAX) else _number(node, function, argument)


def _number(node: exp.Expr, function: Function, argument: Expression) -> Expression:
    if argument.type == STRING:  # as Spark SQL does
        return build.cast(argument, DOUBLE)
    if not argument.type.is_number:
        raise fault(node, f"{function.value} needs a number, but this is {argument.type}")
    return argument
