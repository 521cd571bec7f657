"""Aggregate calls: as they are written, with DISTINCT, FILTER and WITHIN GROUP around them, and as they are bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.logical.nodes import AggregateCall, Function
from sash.logical.user_aggregates import UserAggregate
from sash.scalar.nodes import Expression
from sash.schema import Type
from sash.sql.places import fault
from sash.sql.user_code import user_code


@dataclass(frozen=True)
class Written:
    """An aggregate as written, taken apart."""

    node: exp.Expr
    name: str
    arguments: tuple[exp.Expr, ...]
    is_distinct: bool = False
    order: exp.Ordered | None = None  # of WITHIN GROUP
    where: exp.Expr | None = None  # of FILTER

    @property
    def user(self) -> UserAggregate | None:
        """The aggregate of the user that this is, if it is one."""
        call = self.node
        while isinstance(call, exp.Filter | exp.WithinGroup):
            call = call.this
        code = user_code(call)
        return code if isinstance(code, UserAggregate) else None

    def takes(self, least: int, most: int | None = None) -> None:
        count, most = len(self.arguments), most or least
        if not least <= count <= most:
            wanted = {1: "one argument", 2: "two arguments"}[least] if least == most else f"{least} or {most} arguments"
            raise fault(self.node, f"{self.name.upper()} takes {wanted}, not {count}")


@dataclass(frozen=True)
class BoundCall:
    """An aggregate call over the columns of the inputs."""

    function: Function
    argument: Expression | None
    is_distinct: bool = False
    second: Expression | None = None
    parameter: object = None

    @property
    def expressions(self) -> list[Expression]:
        return [part for part in (self.argument, self.second) if part is not None]

    @property
    def type(self) -> Type:
        return self.placed(dict.fromkeys(self.expressions, 0)).type

    def over(self, replacement: Callable[[Expression], Expression]) -> BoundCall:
        """The call of other arguments."""
        argument, second = (None if part is None else replacement(part) for part in (self.argument, self.second))
        return replace(self, argument=argument, second=second)

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
        inner, order = written(node.this), node.expression.expressions
        if len(order) != 1:
            raise fault(node, "WITHIN GROUP orders by one expression")
        return replace(inner, node=node, order=order[0])
    if not isinstance(node, exp.Anonymous):
        raise fault(node, "FILTER and WITHIN GROUP need an aggregate")
    given = node.expressions
    if len(given) == 1 and isinstance(given[0], exp.Distinct):
        return Written(node, node.name.lower(), tuple(given[0].expressions), is_distinct=True)
    return Written(node, node.name.lower(), tuple(given))
