"""SELECT: inputs joined and filtered, grouped where there are groups, then projected and cut to first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from sash.logical.nodes import Join, Plan
from sash.scalar.nodes import Column, Expression, columns
from sash.sql.binder.calls import Aggregates
from sash.sql.binder.conditions import conjuncts
from sash.sql.binder.context import Context
from sash.sql.binder.correlation import membership
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.flags import Flag, with_flags
from sash.sql.binder.from_clause import bind_from
from sash.sql.binder.grouping_sets import Grouping, grouping
from sash.sql.binder.groups import Groups, aggregate, aggregate_sets, group_keys, make_groups
from sash.sql.binder.inputs import BindQuery
from sash.sql.binder.items import bind_items
from sash.sql.binder.joins import Part
from sash.sql.binder.numbering import NUMBER, UNLIMITED, Bounds, bounds, filtered
from sash.sql.binder.ordering import Ordering, limit_of, orderings
from sash.sql.binder.output import Numbering, Output
from sash.sql.binder.projections import distinct
from sash.sql.binder.scalars import Scalars, with_scalars
from sash.sql.binder.scope import Scope
from sash.sql.binder.subqueries import MembershipBinder
from sash.sql.binder.support import not_yet, only
from sash.sql.dialect import DefaultWindow
from sash.sql.places import fault

_KNOWN = (
    "expressions", "from_", "joins", "where", "group", "having", "windows", "with_", "distinct", "qualify", "order",
    "limit", "offset",
)  # fmt: skip
Over = Callable[[Expression], Expression]


def bind_select(node: exp.Select, context: Context, bind_query: BindQuery) -> Plan:
    only(node, _KNOWN)
    for clause in node.args.get("windows") or ():
        if not isinstance(clause, DefaultWindow):
            raise not_yet(clause, "a window function (WINDOW ... AS)")
    scalars = with_scalars(node, bind_from(node, context, bind_query, None), context, bind_query)
    joined, flags = with_flags(node, scalars.joined)
    scalars = replace(scalars, joined=joined)
    part = _filtered(node.args.get("where"), scalars, flags, context, bind_query)
    return _Select(node, scalars, part, context.text).plan()


def _filtered(
    where: exp.Expr | None, scalars: Scalars, flags: Sequence[Flag], context: Context, bind_query: BindQuery
) -> Part:
    """The inputs joined, under what WHERE demands; what it asks of subqueries comes last."""
    scope = scalars.joined.scope
    nodes = [] if where is None else list(conjuncts(where.this))
    asked = [(node, membership(node)) for node in nodes]
    binder = ExpressionBinder(scope, "WHERE")
    conditions = [binder.condition(node) for node, found in asked if found is None]
    told = {flag.column for flag in flags}
    late = [condition for condition in conditions if any(column in told for column in columns(condition))]
    part = scalars.joined.part([condition for condition in conditions if condition not in late])
    memberships = MembershipBinder(scope, context, bind_query)
    for _, found in asked:
        if found is not None:
            part = memberships.apply(part, found)
    for flag in flags:
        part = memberships.tell(part, flag)
    return part.filtered(late)


class _Select:
    """A query whose inputs are joined: what is left is its select list, its groups and its order."""

    def __init__(self, node: exp.Select, scalars: Scalars, part: Part, text: str) -> None:
        self.node = node
        self.scope: Scope = scalars.joined.scope
        self.scalars = scalars
        self.part = part
        self.calls = Aggregates(self.scope.width)
        self.aliases: dict[str, Expression] = {}
        self.numbering: tuple[exp.Window, Numbering] | None = None
        self.binder = ExpressionBinder(self.scope, "SELECT", self.calls, self.aliases, numbered=self._number)
        self.items = bind_items(node, self.binder, self.aliases, text)
        outputs = [item.expression for item in self.items]
        self.order = orderings(node.args.get("order"), self._clause("ORDER BY").bind, outputs)
        self.bounds = self._qualify()

    def plan(self) -> Plan:
        plan, over = self._source()
        outputs = tuple(self._over(item.expression, over) for item in self.items)
        output = Output(plan, outputs, tuple(item.name for item in self.items))
        order = [replace(part, expression=self._over(part.expression, over)) for part in self.order]
        limit = limit_of(self.node)
        if self.numbering is None and not self.node.args.get("distinct"):
            return output.projected() if limit is None else output.first(order, limit)
        rows = output.projected() if self.numbering is None else output.numbered(self._counted(over), self.bounds)
        if self.node.args.get("distinct"):
            only(self.node.args["distinct"], ())
            rows = distinct(rows)
        return rows if limit is None else output.first_of_items(rows, order, limit)

    def _source(self) -> tuple[Plan, Over]:
        """What the select list reads, and how expressions over the inputs become expressions over that."""
        if self.calls.columns or self.node.args.get("group") or self.node.args.get("having"):
            return self._grouped()
        return self.part.plan, self.part.over

    def _grouped(self) -> tuple[Plan, Over]:
        sets = grouping(self.node.args.get("group"))
        named = group_keys(sets.nodes, self.scope, self.items, self.calls.first)
        keys = tuple(dict.fromkeys(named))
        binder = self._clause("HAVING", lambda column: column in keys)
        having = _conditions(self.node.args.get("having"), binder)
        groups = make_groups(keys, self.calls, self.items, [column for column, _ in self.scalars.above])
        seen = self.binder.seen | binder.seen
        plan = self._groups(groups, sets, named)
        for _, scalar in self.scalars.above:
            plan = Join(plan, scalar, (), ())
        kept = [groups.over(condition, seen) for condition in having]
        return filtered(plan, kept), lambda expression: groups.over(expression, seen)

    def _groups(self, groups: Groups, sets: Grouping, named: Sequence[Expression]) -> Plan:
        if len(sets.sets) == 1:
            return aggregate(self.part, groups)
        return aggregate_sets(self.part, groups, [frozenset(named[place] for place in one) for one in sets.sets])

    def _clause(self, name: str, prefers: Callable[[Column], bool] = lambda column: False) -> ExpressionBinder:
        """A binder for a clause that may use aliases, aggregates and numbers."""
        return ExpressionBinder(self.scope, name, self.calls, self.aliases, prefers, self._number)

    def _number(self, node: exp.Window) -> Column:
        """The number of the row, for a ROW_NUMBER; all of a query are one."""
        only(node, ("this", "partition_by", "order", "over"))
        binder = ExpressionBinder(self.scope, "OVER", self.calls, self.aliases)
        partition = tuple(binder.bind(part) for part in node.args.get("partition_by") or ())
        found = Numbering(partition, tuple(orderings(node.args.get("order"), binder.bind, ())))
        if self.numbering is not None and self.numbering[1] != found:
            raise fault(node, "a query can number its rows in one way only", "number them again in a query around it")
        self.numbering = (node, found)
        self.binder.seen.update(binder.seen)
        return NUMBER

    def _counted(self, over: Over) -> Numbering:
        assert self.numbering is not None
        _, found = self.numbering
        order = tuple(_mapped(part, over) for part in found.order)
        return Numbering(tuple(over(part) for part in found.partition), order)

    def _qualify(self) -> Bounds:
        clause = self.node.args.get("qualify")
        if clause is None:
            return Bounds()
        found, rest = bounds(_conditions(clause, self._clause("QUALIFY")), NUMBER.index)
        if rest or found.greatest == UNLIMITED:
            raise fault(clause, "QUALIFY takes limits of ROW_NUMBER only", "write QUALIFY ROW_NUMBER() OVER (...) <= 3")
        return found

    def _over(self, expression: Expression, over: Over) -> Expression:
        if expression == NUMBER:
            return NUMBER
        if self.numbering is not None and any(column == NUMBER for column in columns(expression)):
            raise fault(self.numbering[0], "ROW_NUMBER cannot be part of an expression", "compute in a query around it")
        return over(expression)


def _mapped(part: Ordering, over: Over) -> Ordering:
    return replace(part, expression=over(part.expression))


def _conditions(clause: exp.Expr | None, binder: ExpressionBinder) -> list[Expression]:
    """What HAVING or QUALIFY demands."""
    return [] if clause is None else [binder.condition(part) for part in conjuncts(clause.this)]
