"""SELECT: inputs joined and filtered, grouped where there are groups, then projected and cut to first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from sash.plan.nodes import Plan
from sash.plan.over import WindowFunction
from sash.scalar.nodes import Column, Expression
from sash.sql.bind.calls import Aggregates
from sash.sql.bind.conditions import conjuncts
from sash.sql.bind.context import Context
from sash.sql.bind.distinct_on import write_out_distinct_on
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.from_clause import bind_from
from sash.sql.bind.grouping_sets import Grouping, grouping, is_all
from sash.sql.bind.groups import Groups, aggregate, aggregate_sets, group_keys, is_computed, make_groups, marks_of, outside_keys
from sash.sql.bind.inputs import BindQuery
from sash.sql.bind.items import bind_items
from sash.sql.bind.join_steps import Joined
from sash.sql.bind.joins import Part
from sash.sql.bind.named_windows import spread_windows, write_out_windows
from sash.sql.bind.numbering import NUMBER, UNLIMITED, Bounds, bounds, filtered
from sash.sql.bind.ordering import Limit, Ordering, limit_of, orderings
from sash.sql.bind.output import Numbering, Output
from sash.sql.bind.over import Overs
from sash.sql.bind.projections import distinct
from sash.sql.bind.scope import Scope
from sash.sql.bind.subqueries import Subqueries
from sash.sql.bind.subquery_references import SubqueryCollector, asks
from sash.sql.bind.support import only
from sash.sql.bind.table_functions import take_out_of_items
from sash.sql.bind.time_groups import write_out_time_groups
from sash.sql.bind.windowed import around_windows, has_window, with_windows
from sash.sql.syntax.text_positions import fault

_KNOWN = (
    "expressions", "from_", "joins", "where", "group", "having", "windows", "with_", "distinct", "qualify", "order",
    "limit", "offset",
)  # fmt: skip
Over = Callable[[Expression], Expression]


def bind_select(node: exp.Select, context: Context, bind_query: BindQuery) -> Plan:
    take_out_of_items(node)
    write_out_time_groups(node)
    write_out_distinct_on(node)
    only(node, _KNOWN)
    write_out_windows(node)
    spread_windows(node)
    questions = SubqueryCollector(context, bind_query)
    joined = bind_from(node, context, bind_query, Scope((), questions=questions, outer=context.outer))
    return _Select(node, joined, Subqueries(questions), context.text).plan()


class _Select:
    """A query whose inputs are joined: what is left is its select list, its groups and its order."""

    def __init__(self, node: exp.Select, joined: Joined, subqueries: Subqueries, text: str) -> None:
        self.node = node
        self.joined = joined
        self.scope: Scope = joined.scope
        self.subqueries = subqueries
        self.where = _conditions(node.args.get("where"), ExpressionBinder(self.scope, "WHERE"))
        self.calls = Aggregates()
        self.aliases: dict[str, Expression] = {}
        self.overs = Overs(self.scope, self.calls, self.aliases)
        self.binder = ExpressionBinder(self.scope, "SELECT", self.calls, self.aliases, numbered=self.overs.add)
        self.items = bind_items(node, self.binder, self.aliases, text)
        outputs = [item.expression for item in self.items]
        self.order = orderings(node.args.get("order"), self._clause("ORDER BY").bind, outputs)
        if node.args.get("qualify") and not node.args["qualify"].find(exp.Window) and not self.overs.calls:
            raise fault(node.args["qualify"], "QUALIFY is about window functions, and there is none", "use WHERE or HAVING")
        self.qualify = _conditions(node.args.get("qualify"), self._clause("QUALIFY"))
        self.binder.seen.update(self.overs.seen)

    def plan(self) -> Plan:
        plan, over = self._source()
        outputs = [around_windows(item.expression, over) for item in self.items]
        order = [replace(part, expression=around_windows(part.expression, over)) for part in self.order]
        conditions = [around_windows(condition, over) for condition in self.qualify]
        names, limit = tuple(item.name for item in self.items), limit_of(self.node)
        is_distinct = self._is_distinct()
        numbering, limits = self._numbering(over), self._bounds()
        if numbering is not None and limits is not None:
            output = Output(plan, tuple(outputs), names)
            rows = output.numbered(numbering, limits)
            return _cut(output, distinct(rows) if is_distinct else rows, order, limit)
        if self.overs.calls:
            read = [*outputs, *(part.expression for part in order), *conditions]
            plan, above = with_windows(plan, self.overs, over, read, names)
            plan = filtered(plan, [above(condition) for condition in conditions])
            outputs = [above(output) for output in outputs]
            order = [replace(part, expression=above(part.expression)) for part in order]
        output = Output(plan, tuple(outputs), names)
        if is_distinct:
            return _cut(output, distinct(output.projected()), order, limit)
        return output.projected() if limit is None else output.first(order, limit)

    def _is_distinct(self) -> bool:
        clause = self.node.args.get("distinct")
        if clause is not None:
            only(clause, ())
        return clause is not None

    def _source(self) -> tuple[Plan, Over]:
        """What the select list reads, and how expressions over the inputs become expressions over that."""
        if self.calls.results or self.node.args.get("group") or self.node.args.get("having"):
            return self._grouped()
        if marks_of(self._shown(), ()):
            raise fault(self.node, "GROUPING tells about groups, and there are none", "add GROUP BY")
        part = self._rows(self._shown())
        return part.plan, part.over

    def _rows(self, expressions: Sequence[Expression]) -> Part:
        """The inputs joined, under what WHERE demands, with the subqueries that expressions read."""
        plain = [condition for condition in self.where if not asks(condition)]
        asking = [condition for condition in self.where if asks(condition)]
        return self.subqueries.told(self.subqueries.kept(self.joined.part(plain), asking), expressions)

    def _shown(self) -> list[Expression]:
        """What is read of the rows, or of the groups."""
        windows = [part for call in self.overs.calls for part in call.expressions]
        shown = [*(item.expression for item in self.items), *(part.expression for part in self.order)]
        return [*shown, *windows, *self.qualify]

    def _grouped(self) -> tuple[Plan, Over]:
        sets = grouping(self.node.args.get("group"))
        is_every = is_all(self.node.args.get("group"))
        named = self._keys() if is_every else group_keys(sets.nodes, self.scope, self.items)
        keys = tuple(dict.fromkeys(named))
        binder = self._clause("HAVING", lambda column: column in keys)
        having = _conditions(self.node.args.get("having"), binder)
        groups = make_groups(keys, self.calls, self.items, marks_of([*self._shown(), *having], keys))
        seen = self.binder.seen | binder.seen
        read = [argument for call in self.calls.calls for argument in call.expressions]
        plan = self._groups(self._rows([*keys, *read]), groups, sets, named)
        part = Part(plan, {place: place for place in range(len(plan.schema))})
        above = Subqueries(self.subqueries.questions, lambda expression: groups.over(expression, seen))
        part = above.kept(part, having)
        part = above.told(part, [each for shown in self._shown() for each in outside_keys(shown, keys)])
        return part.plan, lambda expression: part.over(groups.over(expression, seen))

    def _groups(self, part: Part, groups: Groups, sets: Grouping, named: Sequence[Expression]) -> Plan:
        chosen = [frozenset(named[place] for place in one) for one in sets.sets]
        if is_all(self.node.args.get("group")):
            chosen = [frozenset(named)]
        if chosen == [frozenset(groups.keys)] and not groups.marks:
            return aggregate(part, groups)
        return aggregate_sets(part, groups, chosen)

    def _keys(self) -> tuple[Expression, ...]:
        """What GROUP BY ALL names: the items without an aggregate or window function."""
        return tuple(item.expression for item in self.items if not is_computed(item.expression))

    def _clause(self, name: str, prefers: Callable[[Column], bool] = lambda column: False) -> ExpressionBinder:
        """A binder for a clause that may use aliases, aggregates and numbers."""
        return ExpressionBinder(self.scope, name, self.calls, self.aliases, prefers, self.overs.add)

    def _numbering(self, over: Over) -> Numbering | None:
        """What ROW_NUMBER counts, where that is the only window function, and an item by itself."""
        if [call.function for call in self.overs.calls] != [WindowFunction.ROW_NUMBER]:
            return None
        if any(has_window(item.expression) and item.expression != NUMBER for item in self.items):
            return None
        if any(has_window(part.expression) and part.expression != NUMBER for part in self.order):
            return None
        (call,) = self.overs.calls
        return Numbering(tuple(map(over, call.partition)), tuple(_mapped(part, over) for part in call.order))

    def _bounds(self) -> Bounds | None:
        """The numbers that QUALIFY lets through, if it says nothing else."""
        found, rest = bounds(self.qualify, NUMBER)
        return None if rest or (self.qualify and found.greatest == UNLIMITED) else found


def _cut(output: Output, rows: Plan, order: Sequence[Ordering], limit: Limit | None) -> Plan:
    return rows if limit is None else output.first_of_items(rows, order, limit)


def _mapped(part: Ordering, over: Over) -> Ordering:
    return replace(part, expression=over(part.expression))


def _conditions(clause: exp.Expr | None, binder: ExpressionBinder) -> list[Expression]:
    """What WHERE, HAVING or QUALIFY demands."""
    return [] if clause is None else [binder.condition(part) for part in conjuncts(clause.this)]
