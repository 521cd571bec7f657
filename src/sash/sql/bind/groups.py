"""GROUP BY, HAVING and aggregates: expressions over inputs become expressions over groups.

        select list, HAVING      over the keys and the calls
        Aggregate                keys, then calls
        Project                  only where a key or an argument is not a plain column

GROUPING SETS, ROLLUP and CUBE are the union of one aggregate for every set, with NULL for the keys it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sash.errors import SqlError, choices
from sash.numerals import whole
from sash.plan.aggregates import Kept
from sash.plan.expression_text import expression_text
from sash.plan.nodes import Aggregate, Plan, Project
from sash.scalar.nodes import Call, Column, Expression, Literal, calls, leaves, replaced, unfinished
from sash.sql.bind import projections
from sash.sql.bind.calls import Aggregates
from sash.sql.bind.composite_aggregates import with_modes, with_numbers
from sash.sql.bind.conditions import GROUPING
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.items import Item
from sash.sql.bind.joins import Part
from sash.sql.bind.projections import rename, union
from sash.sql.bind.references import AggregateResult, OuterColumn, SubqueryResult, WindowResult
from sash.sql.bind.scope import Scope
from sash.sql.bind.session_groups import with_sessions
from sash.sql.syntax.text_positions import fault


@dataclass(frozen=True)
class Groups:
    """The keys and calls of a query, over the columns of its inputs, and the names they get.

    `marks` are calls of GROUPING, which say what keys a set leaves out: columns after all others.
    """

    keys: tuple[Expression, ...]
    calls: Aggregates
    names: tuple[str, ...]
    marks: tuple[Call, ...] = ()

    def over(self, expression: Expression, seen: dict[Column, exp.Expr]) -> Expression:
        """An expression over the inputs as one over the groups; what comes from elsewhere stays as it is."""
        return replaced(expression, lambda part: self._column(part, seen))

    def _column(self, part: Expression, seen: dict[Column, exp.Expr]) -> Expression | None:
        if part in self.keys:
            place = self.keys.index(part)
        elif part in self.marks:
            return Column(len(self.names) + self.marks.index(part), part.type, GROUPING)
        elif isinstance(part, AggregateResult):
            place = len(self.keys) + part.number
        elif isinstance(part, Column):
            raise _ungrouped(part, seen)
        elif isinstance(part, Call | Literal | OuterColumn | SubqueryResult):
            return None
        else:
            raise unfinished(part)
        return Column(place, part.type, self.names[place])


def group_keys(nodes: Sequence[exp.Expr], scope: Scope, items: Sequence[Item]) -> tuple[Expression, ...]:
    """What GROUP BY names: columns, expressions, places in the select list, or its aliases; one for every node."""
    aliases = {item.name.lower(): item.expression for item in items if item.has_alias}
    binder = ExpressionBinder(scope, "GROUP BY", aliases=aliases)
    return tuple(_key(node, binder, items) for node in nodes)


def is_computed(expression: Expression) -> bool:
    """Whether an expression reads what is computed of groups or over them."""
    return any(isinstance(leaf, AggregateResult | WindowResult) for leaf in leaves(expression))


def marks_of(expressions: Sequence[Expression], keys: Sequence[Expression]) -> tuple[Call, ...]:
    """The calls of GROUPING in expressions."""
    found = dict.fromkeys(call for one in expressions for call in calls(one) if call.function == GROUPING)
    for call in found:
        if any(argument not in keys for argument in call.arguments):
            raise SqlError("GROUPING takes what GROUP BY names", f"keys are: {choices(map(expression_text, keys))}")
    return tuple(found)


def outside_keys(expression: Expression, keys: Sequence[Expression]) -> Iterator[Expression]:
    """The parts of an expression that no key covers."""
    if expression in keys:
        return
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from outside_keys(argument, keys)
    else:
        yield expression


def make_groups(
    keys: tuple[Expression, ...], calls: Aggregates, items: Sequence[Item], marks: tuple[Call, ...] = ()
) -> Groups:
    """Names come from the select list, where an item is just a key or a call."""
    outputs = [*keys, *calls.results]
    chosen = {item.expression: item.name for item in reversed(items)}
    names = tuple(chosen.get(output, expression_text(output)) for output in outputs)
    return Groups(keys, calls, names, marks)


def aggregate(part: Part, groups: Groups) -> Plan:
    """The groups of the joined inputs."""
    part, named = with_sessions(part, groups.keys)
    part, bound = with_numbers(part, named, groups.calls.calls)
    plan, places = _with_columns(part, [*named, *(argument for call in bound for argument in call.arguments)])
    calls = list(enumerate(call.placed(places) for call in bound))
    keys, width = tuple(places[key] for key in named), len(named)
    modes = [(place, call) for place, call in calls if call.function.facts.kept is Kept.ROWS]
    others = tuple(call for place, call in calls if (place, call) not in modes)
    names = (*groups.names[:width], *(groups.names[width + place] for place, call in calls if call in others))
    if not modes:
        return Aggregate(plan, keys, others, names)
    return rename(with_modes(Aggregate(plan, keys, others, names), modes), groups.names)


def aggregate_sets(part: Part, groups: Groups, sets: Sequence[frozenset[Expression]]) -> Plan:
    """The groups of every set, in the columns of `aggregate`."""
    return union([_padded(aggregate(part, _narrowed(groups, chosen)), groups, chosen) for chosen in sets])


def _narrowed(groups: Groups, chosen: frozenset[Expression]) -> Groups:
    kept = [place for place, key in enumerate(groups.keys) if key in chosen]
    names = tuple(groups.names[place] for place in kept) + groups.names[len(groups.keys) :]
    return Groups(tuple(groups.keys[place] for place in kept), groups.calls, names)


def _padded(plan: Plan, groups: Groups, chosen: frozenset[Expression]) -> Plan:
    found = iter(projections.columns(plan))
    keys = [next(found) if key in chosen else Literal(None, key.type) for key in groups.keys]
    marks = [_left_out(mark, groups.keys, chosen) for mark in groups.marks]
    names = (*groups.names, *(GROUPING for _ in marks))
    return projections.project(plan, [*keys, *found, *marks], names)


def _left_out(mark: Call, keys: Sequence[Expression], chosen: frozenset[Expression]) -> Literal:
    """A bit for every argument, or key: whether a set is without it; the first is the highest."""
    bits = 0
    for key in mark.arguments or keys:
        bits = 2 * bits + (key not in chosen)
    return Literal(bits, mark.type)


def _key(node: exp.Expr, binder: ExpressionBinder, items: Sequence[Item]) -> Expression:
    key = _ordinal(node, items)
    if key is None:
        key = binder.bind(node)
    if is_computed(key):
        raise fault(node, "an aggregate is not allowed in GROUP BY")
    return key


def _ordinal(node: exp.Expr, items: Sequence[Item]) -> Expression | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    number = whole(node.name)
    if number is None or not 1 <= number <= len(items):
        raise fault(node, f"GROUP BY {node.name} means no item of the select list", f"there are {len(items)}")
    return items[number - 1].expression


def _with_columns(part: Part, expressions: Sequence[Expression]) -> tuple[Plan, dict[Expression, int]]:
    """A plan that has all these as columns, and where; a projection only if one must be computed."""
    wanted = list(dict.fromkeys(expressions))
    over = [part.over(expression) for expression in wanted]
    places = [expression.index for expression in over if isinstance(expression, Column)]
    if len(places) == len(wanted):
        return part.plan, dict(zip(wanted, places, strict=True))
    names = tuple(expression_text(expression) for expression in wanted)
    return Project(part.plan, tuple(over), names), {expression: n for n, expression in enumerate(wanted)}


def _ungrouped(column: Column, seen: dict[Column, exp.Expr]) -> SqlError:
    message = f'column "{column.name}" is neither grouped nor aggregated'
    return fault(seen.get(column), message, f"add it to GROUP BY, or use an aggregate such as MAX({column.name})")
