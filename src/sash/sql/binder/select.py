"""SELECT: inputs joined and filtered, grouped where there is something to group, then projected."""

from __future__ import annotations

from sqlglot import exp

from sash.logical.nodes import Filter, Plan
from sash.scalar.nodes import Expression
from sash.sql.binder.calls import Aggregates
from sash.sql.binder.context import Context
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.from_clause import bind_from, conjuncts
from sash.sql.binder.groups import aggregate, group_keys, make_groups
from sash.sql.binder.inputs import BindQuery
from sash.sql.binder.items import bind_items
from sash.sql.binder.joins import Part, conjunction, join_inputs
from sash.sql.binder.projections import project
from sash.sql.binder.scope import Scope
from sash.sql.binder.support import not_yet, only
from sash.sql.dialect import DefaultWindow

_KNOWN = ("expressions", "from_", "joins", "where", "group", "having", "windows", "with_")


def bind_select(node: exp.Select, context: Context, bind_query: BindQuery) -> Plan:
    only(node, _KNOWN)
    for clause in node.args.get("windows") or ():
        if not isinstance(clause, DefaultWindow):
            raise not_yet(clause, "a window function (WINDOW ... AS)")
    scope, conditions = bind_from(node, context, bind_query)
    part = join_inputs(scope, conditions + _conditions(node.args.get("where"), ExpressionBinder(scope, "WHERE")))
    return _Select(node, scope, part, context.text).plan()


class _Select:
    """A query whose inputs are joined: what is left is its select list and its groups."""

    def __init__(self, node: exp.Select, scope: Scope, part: Part, text: str) -> None:
        self.node = node
        self.scope = scope
        self.part = part
        self.calls = Aggregates(scope.width)
        self.aliases: dict[str, Expression] = {}
        self.binder = ExpressionBinder(scope, "SELECT", self.calls, self.aliases)
        self.items = bind_items(node, self.binder, self.aliases, text)

    def plan(self) -> Plan:
        if self.calls.columns or self.node.args.get("group") or self.node.args.get("having"):
            return self._grouped()
        return self._projected(self.part.plan, [self.part.over(item.expression) for item in self.items])

    def _grouped(self) -> Plan:
        keys = group_keys(self.node.args.get("group"), self.scope, self.items, self.calls.first)
        binder = ExpressionBinder(self.scope, "HAVING", self.calls, self.aliases, lambda column: column in keys)
        having = _conditions(self.node.args.get("having"), binder)
        groups = make_groups(keys, self.calls, self.items)
        outputs = [groups.over(item.expression, self.binder.seen) for item in self.items]
        kept = [groups.over(condition, binder.seen) for condition in having]
        grouped = aggregate(self.part, groups)
        return self._projected(Filter(grouped, conjunction(kept)) if kept else grouped, outputs)

    def _projected(self, plan: Plan, outputs: list[Expression]) -> Plan:
        return project(plan, outputs, [item.name for item in self.items])


def _conditions(clause: exp.Expr | None, binder: ExpressionBinder) -> list[Expression]:
    """What WHERE or HAVING demands."""
    return [] if clause is None else [binder.condition(part) for part in conjuncts(clause.this)]
