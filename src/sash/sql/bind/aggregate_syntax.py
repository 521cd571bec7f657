"""Aggregate calls: as they are written, with DISTINCT, FILTER and WITHIN GROUP around them, and as they are bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.plan.aggregates import AggregateCall, Function
from sash.plan.user_aggregates import UserAggregate
from sash.scalar.nodes import Expression
from sash.schema import Type
from sash.sql.bind.ordering import Ordering
from sash.sql.syntax.text_positions import fault
from sash.sql.user_code import user_code


@dataclass(frozen=True)
class Written:
    """An aggregate as written, taken apart."""

    node: exp.Expr
    name: str
    arguments: tuple[exp.Expr, ...]
    is_distinct: bool = False
    orders: tuple[exp.Ordered, ...] = ()  # of WITHIN GROUP, or of ORDER BY after the arguments
    where: exp.Expr | None = None  # of FILTER

    @property
    def user(self) -> UserAggregate | None:
        """The aggregate of the user that this is, if it is one."""
        call = self.node
        while isinstance(call, exp.Filter | exp.WithinGroup):
            call = call.this
        code = user_code(call)
        return code if isinstance(code, UserAggregate) else None

    @property
    def order(self) -> exp.Ordered | None:
        """The only order."""
        if len(self.orders) > 1:
            raise fault(self.node, f"{self.name.upper()} orders by one expression")
        return self.orders[0] if self.orders else None

    def takes(self, least: int, most: int | None = None) -> None:
        count, most = len(self.arguments), least if most is None else most
        if not least <= count <= most:
            words = {0: "no argument", 1: "one argument", 2: "two arguments"}
            wanted = words[least] if least == most else f"{least} or {most} arguments"
            raise fault(self.node, f"{self.name.upper()} takes {wanted}, not {count}")


@dataclass(frozen=True)
class BoundCall:
    """An aggregate call over the columns of the inputs."""

    function: Function
    argument: Expression | None
    is_distinct: bool = False
    second: Expression | None = None
    parameter: float | str | UserAggregate | None = None
    order: tuple[Ordering, ...] = ()  # of STRING_AGG and ARRAY_AGG; becomes a number in the second argument

    @property
    def expressions(self) -> list[Expression]:
        """All that it reads."""
        return [*self.arguments, *(part.expression for part in self.order)]

    @property
    def arguments(self) -> list[Expression]:
        return [part for part in (self.argument, self.second) if part is not None]

    @property
    def type(self) -> Type:
        return self.placed(dict.fromkeys(self.expressions, 0)).type

    def over(self, replacement: Callable[[Expression], Expression]) -> BoundCall:
        """The call of other arguments."""
        argument, second = (None if part is None else replacement(part) for part in (self.argument, self.second))
        order = tuple(replace(part, expression=replacement(part.expression)) for part in self.order)
        return replace(self, argument=argument, second=second, order=order)

    def placed(self, places: dict[Expression, int]) -> AggregateCall:
        """The call over a plan that has its arguments as columns."""
        if self.argument is None:
            return AggregateCall(self.function, None, None)
        second = None if self.second is None else places[self.second]
        second_type = None if self.second is None else self.second.type
        return AggregateCall(
            self.function, places[self.argument], self.argument.type, self.is_distinct, second, second_type,
            self.parameter,
        )  # fmt: skip


def written(node: exp.Expr) -> Written:
    """An aggregate with what is around it: FILTER, WITHIN GROUP, DISTINCT."""
    if isinstance(node, exp.Filter):
        return replace(written(node.this), node=node, where=node.expression.this)
    if isinstance(node, exp.WithinGroup):
        return replace(written(node.this), node=node, orders=tuple(node.expression.expressions))
    if not isinstance(node, exp.Anonymous):
        raise fault(node, "FILTER and WITHIN GROUP need an aggregate")
    given, orders = list(node.expressions), ()
    if given and isinstance(given[-1], exp.Order):
        orders = tuple(given[-1].expressions)
        given[-1] = given[-1].this
    if given and isinstance(given[0], exp.Distinct):
        return Written(node, node.name.lower(), (*given[0].expressions, *given[1:]), is_distinct=True, orders=orders)
    return Written(node, node.name.lower(), tuple(given), orders=orders)
