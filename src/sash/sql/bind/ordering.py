"""ORDER BY and LIMIT: the first rows of an order. Rows that are equal in it come in the order of their full row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sash.numerals import whole
from sash.plan.nodes import Combination, Combine, Filter, Order, Plan, Top
from sash.scalar.nodes import Expression
from sash.sql.bind.conditions import FALSE
from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.text_positions import fault


@dataclass(frozen=True)
class Ordering:
    """One part of ORDER BY, as an expression."""

    expression: Expression
    is_descending: bool
    nulls_first: bool
    node: exp.Expr = field(compare=False)

    def at(self, column: int) -> Order:
        return Order(column, self.is_descending, self.nulls_first)


@dataclass(frozen=True)
class Limit:
    count: int | None  # None: all rows after the offset
    offset: int = 0

    def top(self, plan: Plan, order: Sequence[Order]) -> Plan:
        if self.count is None:
            first = Top(plan, (), tuple(order), self.offset)
            return Combine(plan, first, Combination.EXCEPT_ALL)
        if self.count == 0:
            return Filter(plan, FALSE)
        return Top(plan, (), tuple(order), self.count, self.offset)


def orderings(
    order: exp.Expr | None, bind: Callable[[exp.Expr], Expression], items: Sequence[Expression]
) -> list[Ordering]:
    """The parts of ORDER BY; a number means an item of the select list."""
    if order is None:
        return []
    only(order, ("expressions",))
    return [_ordering(node, bind, items) for node in order.expressions]


def limit_of(node: exp.Expr) -> Limit | None:
    """What LIMIT and OFFSET of a query say."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    skipped = _count(offset.expression) if offset else 0
    if isinstance(limit, exp.Fetch):
        return Limit(_fetched(limit), skipped)
    if limit is None or limit.expression.name.upper() == "ALL":
        return Limit(None, skipped) if skipped else None
    only(limit, ("expression",))
    return Limit(_count(limit.expression), skipped)


def _fetched(fetch: exp.Fetch) -> int:
    """FETCH FIRST 10 ROWS ONLY, which is LIMIT 10; without a number, one row."""
    options = fetch.args.get("limit_options")
    if options is not None and (options.args.get("with_ties") or options.args.get("percent")):
        raise not_yet(fetch, "FETCH ... WITH TIES or PERCENT")
    count = fetch.args.get("count")
    return 1 if count is None else _count(count)


def _count(node: exp.Expr) -> int:
    count = whole(node.name) if isinstance(node, exp.Literal) and not node.is_string else None
    if count is None or count >= 2**31:
        raise fault(node, "LIMIT and OFFSET take a whole number", "write LIMIT 10")
    return count


def _ordering(node: exp.Expr, bind: Callable[[exp.Expr], Expression], items: Sequence[Expression]) -> Ordering:
    only(node, ("this", "desc", "nulls_first"))
    expression = _ordinal(node.this, items)
    if expression is None:
        expression = bind(node.this)
    return Ordering(expression, bool(node.args.get("desc")), bool(node.args.get("nulls_first")), node)


def _ordinal(node: exp.Expr, items: Sequence[Expression]) -> Expression | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    number = whole(node.name)
    if number is None or not 1 <= number <= len(items):
        raise fault(node, f"ORDER BY {node.name} means no item of the select list", f"there are {len(items)}")
    return items[number - 1]
