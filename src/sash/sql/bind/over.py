"""Window functions, collected while the expressions around them are bound.

A function becomes a reference to its result: `x - LAG(x) OVER (ORDER BY t)` is a difference of a column and such a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.errors import choices
from sash.plan.aggregates import Kept
from sash.plan.over import Frame, OverCall, WindowFunction
from sash.scalar import build
from sash.scalar.nodes import Column, Expression, Literal
from sash.schema import BOOLEAN, Type
from sash.sql.bind import aggregate_functions
from sash.sql.bind.aggregate_syntax import BoundCall, written
from sash.sql.bind.calls import Aggregates
from sash.sql.bind.conditions import constant
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.frames import bind_frame
from sash.sql.bind.numbering import NUMBER
from sash.sql.bind.ordering import Ordering, orderings
from sash.sql.bind.references import WindowResult
from sash.sql.bind.scope import Scope
from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.text_positions import at, fault
from sash.sql.user_code import user_code

_MOST = 2**31


@dataclass(frozen=True)
class BoundOver:
    """A window function over the columns of the inputs."""

    function: WindowFunction | BoundCall
    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]
    frame: Frame
    argument: Expression | None = None
    offset: int = 1
    default: Expression | None = None
    ignores_nulls: bool = False

    @property
    def expressions(self) -> list[Expression]:
        """All that it reads: its arguments first."""
        own = self.function.expressions if isinstance(self.function, BoundCall) else [self.argument, self.default]
        keys = [*self.partition, *(part.expression for part in self.order)]
        return [part for part in (*own, *keys) if part is not None]

    @property
    def type(self) -> Type:
        return self.placed(dict.fromkeys(self.expressions, 0)).type

    def placed(self, places: Mapping[Expression, int]) -> OverCall:
        if isinstance(self.function, BoundCall):
            return OverCall(self.function.placed(dict(places)), self.frame)
        argument = None if self.argument is None else places[self.argument]
        type_ = None if self.argument is None else self.argument.type
        default = None if self.default is None else places[self.default]
        return OverCall(self.function, self.frame, argument, type_, self.offset, default, self.ignores_nulls)

    def over(self, change: Callable[[Expression], Expression]) -> BoundOver:
        """The same over other columns."""

        def maybe(part: Expression | None) -> Expression | None:
            return None if part is None else change(part)

        function = self.function
        if isinstance(function, BoundCall):
            function = function.over(change)
        order = tuple(replace(part, expression=change(part.expression)) for part in self.order)
        partition = tuple(map(change, self.partition))
        return replace(
            self, function=function, partition=partition, order=order, argument=maybe(self.argument), default=maybe(self.default)
        )


class Overs:
    """The window functions of a query; equal ones are one."""

    def __init__(self, scope: Scope, aggregates: Aggregates, aliases: Mapping[str, Expression]) -> None:
        self._scope, self._aggregates, self._aliases = scope, aggregates, aliases
        self.seen: dict[Column, exp.Expr] = {}
        self.calls: list[BoundOver] = []
        self.results: list[WindowResult] = []

    def add(self, node: exp.Window) -> WindowResult:
        call = self._bound(node)
        if call not in self.calls:
            is_number = call.function is WindowFunction.ROW_NUMBER
            name = NUMBER.name if is_number else str(node.this.sql(dialect="spark"))
            self.results.append(WindowResult(call.type, name, len(self.calls)))
            self.calls.append(call)
        return self.results[self.calls.index(call)]

    def _bound(self, node: exp.Window) -> BoundOver:
        only(node, ("this", "partition_by", "order", "over", "spec"))
        binder = ExpressionBinder(self._scope, "OVER", self._aggregates, self._aliases)
        partition = [binder.bind(part) for part in node.args.get("partition_by") or ()]
        order = orderings(_opened(node.args.get("order")), binder.bind, ())
        kept = tuple(part for part in order if constant(part.expression) is None)
        frame = bind_frame(node, kept, binder)
        bare = BoundOver(
            WindowFunction.ROW_NUMBER, tuple(part for part in dict.fromkeys(partition) if constant(part) is None), kept, frame
        )
        bound = _function(node.this, bare, binder)
        self.seen.update(binder.seen)
        return bound


def _opened(order: exp.Order | None) -> exp.Order | None:
    """ORDER BY (a, b) means ORDER BY a, b."""
    if order is None:
        return None
    parts = []
    for part in order.expressions:
        inner = part.this.expressions if isinstance(part.this, exp.Tuple) else [part.this]
        for each in inner:
            one = part.copy()
            one.set("this", each.copy())
            parts.append(one)
    return exp.Order(expressions=parts)


def _function(node: exp.Expr, bare: BoundOver, binder: ExpressionBinder) -> BoundOver:
    ignores = isinstance(node, exp.IgnoreNulls)
    call = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    if isinstance(call, exp.Anonymous) and name in _FUNCTIONS and user_code(call) is None:
        arguments = list(call.expressions)
        if arguments and isinstance(arguments[0], exp.IgnoreNulls | exp.RespectNulls):
            ignores = isinstance(arguments[0], exp.IgnoreNulls)
            arguments[0] = arguments[0].this
        found = _FUNCTIONS[name](_Given(call, name, arguments, binder), bare)
        if ignores and found.argument is None:
            raise fault(node, f"{name.upper()} takes no IGNORE NULLS")
        return replace(found, ignores_nulls=ignores or found.ignores_nulls)
    if ignores or not isinstance(call, exp.Anonymous | exp.Filter | exp.WithinGroup):
        raise fault(node, "IGNORE NULLS is for LAG, LEAD, FIRST_VALUE, LAST_VALUE and NTH_VALUE")
    given = written(call)
    if given.user is None and not aggregate_functions.is_aggregate(given.name):
        names = choices(name.upper() for name in (*_FUNCTIONS, "any aggregate"))
        raise fault(node, f"{given.name.upper()} is no window function", f"window functions are: {names}")
    bound = aggregate_functions.bind_call(given, binder)
    if bound.order or bound.function.facts.kept is Kept.ROWS:
        raise not_yet(node, f"{given.name.upper()} OVER in this order" if bound.order else "MODE OVER")
    return replace(bare, function=bound)


@dataclass(frozen=True)
class _Given:
    """A window function as written."""

    node: exp.Anonymous
    name: str
    arguments: list[exp.Expr]
    binder: ExpressionBinder

    def takes(self, least: int, most: int) -> None:
        if not least <= len(self.arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise fault(self.node, f"{self.name.upper()} takes {wanted} arguments, not {len(self.arguments)}")

    def value(self, place: int) -> Expression:
        return self.binder.bind(self.arguments[place])

    def number(self, place: int, least: int) -> int:
        """A whole number that does not depend on the row."""
        if place >= len(self.arguments):
            return 1
        found = constant(self.value(place))
        if found is None or not isinstance(found.value, int) or not least <= found.value < _MOST:
            raise fault(self.arguments[place], f"{self.name.upper()} takes a constant whole number here, at least {least}")
        return found.value


def _ranked(function: WindowFunction) -> Callable[[_Given, BoundOver], BoundOver]:
    def bind(given: _Given, bare: BoundOver) -> BoundOver:
        given.takes(0, 0)
        return replace(bare, function=function)

    return bind


def _ntile(given: _Given, bare: BoundOver) -> BoundOver:
    given.takes(1, 1)
    return replace(bare, function=WindowFunction.NTILE, offset=given.number(0, 1))


def _lag(sign: int) -> Callable[[_Given, BoundOver], BoundOver]:
    def bind(given: _Given, bare: BoundOver) -> BoundOver:
        given.takes(1, 3)
        argument, default = given.value(0), None
        if len(given.arguments) == 3 and given.value(2) != Literal(None, given.value(2).type):
            with at(given.arguments[2]):
                default = build.cast(given.value(2), argument.type)
        offset = sign * given.number(1, -_MOST)
        return replace(bare, function=WindowFunction.LAG, argument=argument, offset=offset, default=default)

    return bind


def _value(function: WindowFunction, nth: bool = False) -> Callable[[_Given, BoundOver], BoundOver]:
    def bind(given: _Given, bare: BoundOver) -> BoundOver:
        given.takes(2 if nth else 1, 2)
        offset = given.number(1, 1) if nth else 1
        ignores = not nth and len(given.arguments) == 2 and given.value(1) == Literal(True, BOOLEAN)
        return replace(bare, function=function, argument=given.value(0), offset=offset, ignores_nulls=ignores)

    return bind


_FUNCTIONS: dict[str, Callable[[_Given, BoundOver], BoundOver]] = {
    "row_number": _ranked(WindowFunction.ROW_NUMBER),
    "rank": _ranked(WindowFunction.RANK),
    "dense_rank": _ranked(WindowFunction.DENSE_RANK),
    "percent_rank": _ranked(WindowFunction.PERCENT_RANK),
    "cume_dist": _ranked(WindowFunction.CUME_DIST),
    "ntile": _ntile,
    "lag": _lag(1),
    "lead": _lag(-1),
    "first_value": _value(WindowFunction.NTH_VALUE),
    "first": _value(WindowFunction.NTH_VALUE),
    "last_value": _value(WindowFunction.LAST_VALUE),
    "last": _value(WindowFunction.LAST_VALUE),
    "nth_value": _value(WindowFunction.NTH_VALUE, nth=True),
}
WINDOW_FUNCTIONS = _FUNCTIONS.keys()
