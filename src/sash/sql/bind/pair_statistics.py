"""Statistics of pairs of numbers, made of variances, which are exact. Only rows with both numbers count.

    COVAR_POP(x, y)      (VAR_POP(x + y) - VAR_POP(x - y)) / 4       no difference of large sums, so little is lost to rounding
    CORR(x, y)           COVAR_POP(x, y) / SQRT(VAR_POP(x) * VAR_POP(y))
    REGR_SLOPE(y, x)     COVAR_POP(x, y) / VAR_POP(x)                and the other lines through points; y comes first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from sash.plan.aggregates import Function
from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import BIGINT, DOUBLE, STRING
from sash.sql.bind.aggregate_syntax import BoundCall, Written, written
from sash.sql.bind.scope import AggregateCollector, Binder
from sash.sql.bind.support import not_yet
from sash.sql.syntax.text_positions import fault


def bind_statistic(node: exp.Expr, binder: Binder, calls: AggregateCollector) -> Expression | None:
    """The expression over aggregates that a statistic is; None for any other call. `binder` binds what is inside of it."""
    call = written(node)
    if call.user is not None or call.name not in STATISTICS:
        return None
    call.takes(2)
    if call.is_distinct or call.orders:
        raise not_yet(node, f"{call.name.upper()} with DISTINCT or an order")
    values = [_number(call, argument, binder) for argument in call.arguments]
    where = [] if call.where is None else [binder.condition(call.where)]
    return STATISTICS[call.name](_Pairs(values, where, lambda bound: calls.add_bound(bound, node)))


def _number(call: Written, argument: exp.Expr, binder: Binder) -> Expression:
    value = binder.bind(argument)
    if not value.type.is_number and value.type != STRING:
        raise fault(argument, f"{call.name.upper()} needs numbers, but this is {value.type}")
    return build.cast(value, DOUBLE)


class _Pairs:
    """The first and the second numbers of the rows that have both, and aggregates of them."""

    def __init__(
        self, values: Sequence[Expression], where: Sequence[Expression], add: Callable[[BoundCall], Expression]
    ) -> None:
        known = [*where, *(build.call("is_not_null", [value]) for value in values)]
        is_whole = build.call("and", known)
        self.first, self.second = (build.call("case", [is_whole, value, Literal(None, DOUBLE)]) for value in values)
        self._add = add

    def of(self, function: Function, value: Expression) -> Expression:
        return self._add(BoundCall(function, value))

    def count(self) -> Expression:
        return self.of(Function.COUNT, self.first)

    def average(self, value: Expression) -> Expression:
        return self.of(Function.AVG, value)

    def variance(self, value: Expression) -> Expression:
        return self.of(Function.VAR_POP, value)

    def covariance(self) -> Expression:
        both = [build.call(sign, [self.first, self.second]) for sign in ("add", "subtract")]
        difference = build.call("subtract", [self.variance(part) for part in both])
        return build.call("divide", [difference, Literal(4.0, DOUBLE)])

    def total(self, part: Expression) -> Expression:
        """Of a mean over the rows, the sum."""
        return build.call("multiply", [part, build.cast(self.count(), DOUBLE)])


def _covariance_of_sample(pairs: _Pairs) -> Expression:
    others = build.call("subtract", [pairs.count(), Literal(1, BIGINT)])
    return _ratio(pairs.total(pairs.covariance()), build.cast(others, DOUBLE))


def _correlation(pairs: _Pairs) -> Expression:
    both = build.call("multiply", [pairs.variance(pairs.first), pairs.variance(pairs.second)])
    found = _ratio(pairs.covariance(), build.call("sqrt", [both]))
    clipped = build.call("greatest", [Literal(-1.0, DOUBLE), build.call("least", [Literal(1.0, DOUBLE), found])])
    return build.call("if", [build.call("is_null", [found]), Literal(None, DOUBLE), clipped])


def _slope(pairs: _Pairs) -> Expression:
    return _ratio(pairs.covariance(), pairs.variance(pairs.second))


def _intercept(pairs: _Pairs) -> Expression:
    rise = build.call("multiply", [_slope(pairs), pairs.average(pairs.second)])
    return build.call("subtract", [pairs.average(pairs.first), rise])


def _fit(pairs: _Pairs) -> Expression:
    """The square of the correlation; points on a level line fit it."""
    is_level = build.call("equal", [pairs.variance(pairs.first), Literal(0.0, DOUBLE)])
    is_steep = build.call("equal", [pairs.variance(pairs.second), Literal(0.0, DOUBLE)])
    found = _correlation(pairs)
    square = build.call("multiply", [found, found])
    return build.call("case", [is_steep, Literal(None, DOUBLE), is_level, Literal(1.0, DOUBLE), square])


def _ratio(one: Expression, other: Expression) -> Expression:
    """NULL where the other is zero."""
    return build.call("divide", [one, build.call("nullif", [other, Literal(0.0, DOUBLE)])])


STATISTICS: dict[str, Callable[[_Pairs], Expression]] = {
    "covar_pop": lambda pairs: pairs.covariance(),
    "covar_samp": _covariance_of_sample,
    "corr": _correlation,
    "regr_count": lambda pairs: pairs.count(),
    "regr_avgx": lambda pairs: pairs.average(pairs.second),
    "regr_avgy": lambda pairs: pairs.average(pairs.first),
    "regr_sxx": lambda pairs: pairs.total(pairs.variance(pairs.second)),
    "regr_syy": lambda pairs: pairs.total(pairs.variance(pairs.first)),
    "regr_sxy": lambda pairs: pairs.total(pairs.covariance()),
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _fit,
}
