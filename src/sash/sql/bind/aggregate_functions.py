"""The aggregate functions: what each takes, and the call that it becomes.

FILTER (WHERE c) turns the argument into CASE WHEN c THEN argument END, since aggregates leave NULLs out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from sash.errors import choices
from sash.plan.aggregates import Distinct, Function, Takes
from sash.plan.user_aggregates import UserAggregate
from sash.scalar import build
from sash.scalar.nodes import Call, Expression, Literal
from sash.schema import DOUBLE, INT, STRING, Kind
from sash.sql.bind.aggregate_syntax import BoundCall, Written, written
from sash.sql.bind.ordering import Ordering, orderings
from sash.sql.bind.row_values import values_of
from sash.sql.bind.scope import Binder
from sash.sql.bind.support import not_yet
from sash.sql.syntax.text_positions import at, fault


def bind_call(call: Written, binder: Binder) -> BoundCall:
    """`binder` binds what is inside of the aggregate."""
    if call.orders and call.name not in _ORDERED:
        raise fault(call.node, f"{call.name.upper()} takes no WITHIN GROUP")
    bound = _user(call, binder, call.user) if call.user is not None else _FUNCTIONS[call.name](call, binder)
    if call.is_distinct:
        bound = _distinct(call, bound)
    return bound if call.where is None else _where(bound, binder.condition(call.where))


def _user(call: Written, binder: Binder, aggregate: UserAggregate) -> BoundCall:
    call.takes(1)
    return BoundCall(Function.USER, binder.bind(call.arguments[0]), parameter=aggregate)


def is_aggregate(name: str) -> bool:
    return name in _FUNCTIONS


def _distinct(call: Written, bound: BoundCall) -> BoundCall:
    match bound.function.facts.distinct:
        case Distinct.CHANGES_NOTHING:
            return bound
        case Distinct.COUNTS_ONCE:
            return replace(bound, is_distinct=True)
        case Distinct.UNKNOWN:
            raise not_yet(call.node, f"{call.name.upper()}(DISTINCT ...)")


def _where(bound: BoundCall, condition: Expression) -> BoundCall:
    if bound.second is not None:  # rows that have nothing to order by do not count
        return replace(bound, second=_when(condition, bound.second))
    return replace(bound, argument=_when(condition, bound.argument or Literal(1, INT)))


def _when(condition: Expression, value: Expression) -> Expression:
    return build.call("case", [condition, value, Literal(None, value.type)])


def _count(call: Written, binder: Binder) -> BoundCall:
    if len(call.arguments) > 1:
        return _count_together(call, binder)
    call.takes(1)
    if isinstance(call.arguments[0], exp.Star):
        return BoundCall(Function.COUNT, None)
    if (values := values_of(call.arguments[0])) is not None:
        return _count_rows(call, [binder.bind(value) for value in values])
    argument = binder.bind(call.arguments[0])
    is_constant = isinstance(argument, Literal) and argument.value is not None and not call.is_distinct
    return BoundCall(Function.COUNT, None if is_constant else argument)


def _count_together(call: Written, binder: Binder) -> BoundCall:
    """COUNT(a, b): the rows without NULL in them; with DISTINCT, their different values."""
    values = [binder.bind(argument) for argument in call.arguments]
    if call.is_distinct and any(value.type.kind is Kind.ARRAY for value in values):
        raise not_yet(call.node, "COUNT(DISTINCT ...) of several values with an ARRAY among them")
    if call.is_distinct:
        return BoundCall(Function.COUNT, build.call("concat", [part for value in values for part in _apart(value)]))
    is_whole = build.call("and", [build.call("is_not_null", [value]) for value in values])
    return BoundCall(Function.COUNT, _when(is_whole, Literal(1, INT)))


def _count_rows(call: Written, values: list[Expression]) -> BoundCall:
    """COUNT((a, b)): a row is never NULL, whatever is in it."""
    if not call.is_distinct:
        return BoundCall(Function.COUNT, None)
    if any(value.type.kind is Kind.ARRAY for value in values):
        raise not_yet(call.node, "COUNT(DISTINCT ...) of a row with an ARRAY in it")
    texts = [build.call("coalesce", [build.call("concat", _apart(value)), Literal("-", STRING)]) for value in values]
    return BoundCall(Function.COUNT, build.call("concat", texts))


def _apart(value: Expression) -> list[Expression]:
    """A value as a text that is like no other, also when others follow: its length comes first."""
    if value.type == DOUBLE:
        value = build.call("add", [value, Literal(0.0, DOUBLE)])  # -0.0 is 0.0
    text = build.cast(value, STRING)
    return [build.cast(build.call("length", [text]), STRING), Literal(":", STRING), text]


def _count_distinct(call: Written, binder: Binder) -> BoundCall:
    """APPROX_COUNT_DISTINCT(x), and perhaps how far off it may be: it is not."""
    call.takes(1, 2)
    return BoundCall(Function.COUNT, binder.bind(call.arguments[0]), is_distinct=True)


def _mode(call: Written, binder: Binder) -> BoundCall:
    """MODE() WITHIN GROUP (ORDER BY x), or MODE(x)."""
    if call.order is None:
        call.takes(1)
        return BoundCall(Function.MODE, binder.bind(call.arguments[0]))
    call.takes(0)
    function = Function.MODE_DESC if call.order.args.get("desc") else Function.MODE
    return BoundCall(function, binder.bind(call.order.this))


def _count_if(call: Written, binder: Binder) -> BoundCall:
    call.takes(1)
    return BoundCall(Function.COUNT, _when(binder.condition(call.arguments[0]), Literal(1, INT)))


def _of(function: Function) -> Callable[[Written, Binder], BoundCall]:
    """A function of one argument."""
    check = _CHECKS[function.facts.takes]

    def bind(call: Written, binder: Binder) -> BoundCall:
        call.takes(1)
        if isinstance(call.arguments[0], exp.Star):
            name = call.name.upper()
            raise fault(call.node, f"{name}(*) does not exist", "name a column; only COUNT takes *")
        return BoundCall(function, check(call, binder.bind(call.arguments[0])))

    return bind


def _any(call: Written, argument: Expression) -> Expression:
    return argument


def _number(call: Written, argument: Expression) -> Expression:
    if argument.type == STRING:  # as Spark SQL does
        return build.cast(argument, DOUBLE)
    if not argument.type.is_number:
        raise fault(call.node, f"{call.name.upper()} needs a number, but this is {argument.type}")
    return argument


def _integer(call: Written, argument: Expression) -> Expression:
    if not argument.type.is_integer:
        raise fault(call.node, f"{call.name.upper()} needs INT or BIGINT, but this is {argument.type}")
    return argument


def _boolean(call: Written, argument: Expression) -> Expression:
    if argument.type.kind is not Kind.BOOLEAN:
        raise fault(call.node, f"{call.name.upper()} needs a BOOLEAN, but this is {argument.type}")
    return argument


def _ordered(call: Written, argument: Expression) -> Expression:
    if argument.type.kind in (Kind.BOOLEAN, Kind.STRING, Kind.ARRAY):
        raise fault(call.node, f"{call.name.upper()} needs a number or a time, but this is {argument.type}")
    return argument


def _percentile(call: Written, binder: Binder) -> BoundCall:
    """PERCENTILE(x, fraction)."""
    call.takes(2)
    fraction = _fraction(call, call.arguments[1], binder)
    return BoundCall(
        Function.PERCENTILE_CONT, _number(call, binder.bind(call.arguments[0])), parameter=float(fraction)
    )


def _percentile_cont(call: Written, binder: Binder) -> BoundCall:
    call.takes(1)
    order, fraction = _order(call), _fraction(call, call.arguments[0], binder)
    if order.args.get("desc"):
        fraction = 1 - fraction
    return BoundCall(Function.PERCENTILE_CONT, _number(call, binder.bind(order.this)), parameter=float(fraction))


def _percentile_disc(call: Written, binder: Binder) -> BoundCall:
    call.takes(1)
    order, fraction = _order(call), _fraction(call, call.arguments[0], binder)
    function = Function.PERCENTILE_DISC_DESC if order.args.get("desc") else Function.PERCENTILE_DISC
    return BoundCall(function, _ordered(call, binder.bind(order.this)), parameter=float(fraction))


def _percentile_near(call: Written, binder: Binder) -> BoundCall:
    """APPROX_PERCENTILE(x, fraction), or (fraction) WITHIN GROUP, and perhaps how exact it must be: a value that is there."""
    if call.order is not None:
        call.takes(1, 2)
        return _percentile_disc(replace(call, arguments=call.arguments[:1]), binder)
    call.takes(2, 3)
    fraction = _fraction(call, call.arguments[1], binder)
    return BoundCall(Function.PERCENTILE_DISC, _ordered(call, binder.bind(call.arguments[0])), parameter=float(fraction))


def _order(call: Written) -> exp.Ordered:
    if call.order is None:
        hint = f"write {call.name.upper()}(0.5) WITHIN GROUP (ORDER BY x)"
        raise fault(call.node, f"{call.name.upper()} needs WITHIN GROUP", hint)
    return call.order


def _fraction(call: Written, node: exp.Expr, binder: Binder) -> Decimal:
    bound = binder.bind(node)
    is_number = isinstance(bound, Literal) and bound.type.is_number and bound.value is not None
    value = Decimal(str(bound.value)) if is_number and isinstance(bound, Literal) else Decimal(-1)
    if not 0 <= value <= 1:
        raise fault(node, f"the fraction of {call.name.upper()} must be a constant from 0 to 1")
    return value


def _by(function: Function) -> Callable[[Written, Binder], BoundCall]:
    def bind(call: Written, binder: Binder) -> BoundCall:
        call.takes(2)
        value, order = (binder.bind(argument) for argument in call.arguments)
        return BoundCall(function, value, second=order)

    return bind


def _by_time(function: Function) -> Callable[[Written, Binder], BoundCall]:
    """FIRST and LAST: by the timestamp of the only stream that has one."""

    def bind(call: Written, binder: Binder) -> BoundCall:
        call.takes(1)
        stamps = binder.scope.timestamps()
        if len(stamps) != 1:
            found = choices(stamp.name for stamp in stamps)
            message = f"{call.name.upper()} needs one stream with TIMESTAMP BY, but there are {len(stamps)}: {found}"
            raise fault(call.node, message, f"use {function.value}(value, column) and name what to order by")
        return BoundCall(function, binder.bind(call.arguments[0]), second=stamps[0])

    return bind


def _string_agg(call: Written, binder: Binder) -> BoundCall:
    call.takes(1, 2)
    with at(call.node):
        value = build.cast(binder.bind(call.arguments[0]), STRING)
    separator: object = "," if call.name == "group_concat" else ""
    if len(call.arguments) == 2:
        bound = binder.bind(call.arguments[1])
        separator = bound.value if isinstance(bound, Literal) and bound.type == STRING else None
    if not isinstance(separator, str):
        raise fault(call.arguments[1], "the separator must be a text in quotes")
    order = _orders(call, binder)
    if len(order) == 1 and not order[0].is_descending and build.cast(order[0].expression, STRING) == value:
        order = ()  # that of the values, among which are no NULLs
    return BoundCall(Function.STRING_AGG, value, parameter=separator, order=_checked(call, order))


def _array_agg(call: Written, binder: Binder) -> BoundCall:
    """Every value becomes an array of it alone, which is not NULL where the value is."""
    call.takes(1)
    value = binder.bind(call.arguments[0])
    order = _orders(call, binder)
    if len(order) == 1 and not order[0].is_descending and order[0].nulls_first and order[0].expression == value:
        order = ()
    return BoundCall(Function.ARRAY_AGG, build.call("array", [value]), order=_checked(call, order))


def _collect(is_distinct: bool) -> Callable[[Written, Binder], BoundCall]:
    """Spark's own: NULLs are left out."""

    def bind(call: Written, binder: Binder) -> BoundCall:
        bound = _array_agg(call, binder)
        assert isinstance(bound.argument, Call)
        is_there = build.call("is_not_null", [bound.argument.arguments[0]])
        return replace(bound, argument=_when(is_there, bound.argument), is_distinct=is_distinct)

    return bind


def over_no_rows(node: exp.Expr, value: Expression) -> Expression:
    """The value of an aggregate, which is NULL where there are no values; COLLECT_LIST is an empty array there."""
    if written(node).name not in ("collect_list", "collect_set"):
        return value
    return build.call("coalesce", [value, build.call("array", [])])


def _orders(call: Written, binder: Binder) -> tuple[Ordering, ...]:
    return tuple(orderings(exp.Order(expressions=list(call.orders)), binder.bind, ()))


def _checked(call: Written, order: tuple[Ordering, ...]) -> tuple[Ordering, ...]:
    if order and (call.is_distinct or call.name == "collect_set"):
        raise fault(call.orders[0], "with DISTINCT, the order is that of the values", "leave ORDER BY out")
    return order


_ORDERED = (
    "mode", "percentile_cont", "percentile_disc", "approx_percentile", "percentile_approx", "string_agg", "listagg",
    "group_concat", "array_agg", "collect_list", "collect_set",
)  # fmt: skip
_CHECKS = {Takes.ANY: _any, Takes.NUMBER: _number, Takes.INTEGER: _integer, Takes.BOOLEAN: _boolean}
_FUNCTIONS: dict[str, Callable[[Written, Binder], BoundCall]] = {
    **{name: _of(function) for function in Function for name in function.facts.names},
    "count": _count,
    "count_if": _count_if,
    "approx_count_distinct": _count_distinct,
    "percentile": _percentile,
    "percentile_cont": _percentile_cont,
    "percentile_disc": _percentile_disc,
    "approx_percentile": _percentile_near,
    "percentile_approx": _percentile_near,
    "mode": _mode,
    "min_by": _by(Function.MIN_BY),
    "max_by": _by(Function.MAX_BY),
    "first": _by_time(Function.MIN_BY),
    "first_value": _by_time(Function.MIN_BY),
    "last": _by_time(Function.MAX_BY),
    "last_value": _by_time(Function.MAX_BY),
    "string_agg": _string_agg,
    "listagg": _string_agg,
    "group_concat": _string_agg,
    "array_agg": _array_agg,
    "collect_list": _collect(is_distinct=False),
    "collect_set": _collect(is_distinct=True),
}
NAMES = _FUNCTIONS.keys()
