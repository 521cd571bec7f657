"""Subqueries that read columns of the query around them, as plans that can run.

What a plan reads from outside are its variables. Unnested, it has the variables as first columns, and for every value of them
the rows that it would have with that value:

    Filter    k = v            v is k: a column more, and no filter         other conditions: joined with the values
    Project   v + 1            joined with the values
    Unnest    v                joined with the values, which are taken apart
    Join                       equal in the variables that both sides have
    Combine                    each side with the variables of both
    Aggregate                  variables are keys; without keys, each value has its row: counts are 0 where there are no rows
    Top, Over                  variables are of the partition

The values are those that the query around has, each once. What they are compared with may be NULL on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sash.errors import SashError
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.as_of import AsOf
from sash.plan.expression_text import expression_text
from sash.plan.nodes import Aggregate, Combine, Filter, Join, Minus, Order, Plan, Project, SingleRow, Top
from sash.plan.over import Over, OverCall, WindowFunction
from sash.plan.rules.conditions import conjuncts
from sash.plan.unnest import Unnest
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Expression, Leaf, Literal, replaced
from sash.schema import BIGINT
from sash.sql.bind import semi_and_outer_joins as matches
from sash.sql.bind.joins import Part, match
from sash.sql.bind.numbering import filtered
from sash.sql.bind.outer_columns import is_of, is_tied, is_variable, names, variables
from sash.sql.bind.projections import columns, project
from sash.sql.bind.references import RightColumn, RightPlace, on_right

Variables = tuple[Expression, ...]


@dataclass(frozen=True)
class Tied:
    """A plan whose first columns are these variables; `solid` are those that are never NULL in it."""

    plan: Plan
    variables: Variables
    solid: frozenset[Expression] = frozenset()

    @property
    def shift(self) -> int:
        return len(self.variables)

    def over(self, expression: Expression, level: int) -> Expression:
        """An expression over the plan as it was."""

        def change(part: Expression) -> Expression | None:
            if part in self.variables:
                return columns(self.plan)[self.variables.index(part)]
            if isinstance(part, Column):
                return replace(part, index=part.index + self.shift)
            assert isinstance(part, Call | Literal) or not is_of(part, level)
            return None

        return replaced(expression, change)


class Unnesting:
    """Unnests what reads columns of one level; `values` gives the values that some variables have there together."""

    def __init__(self, level: int, values: Callable[[Variables], Plan]) -> None:
        self._level = level
        self._values = values

    def tied(self, plan: Plan) -> Tied:
        if not is_tied(plan, self._level):
            return Tied(plan, ())
        if isinstance(plan, Filter):
            return self._under(self.tied(plan.input), list(conjuncts(plan.predicate)))
        if isinstance(plan, Project):
            return self._project(plan)
        if isinstance(plan, Unnest):
            below = self._with(self.tied(plan.input), self._read([plan.array]))
            return replace(below, plan=replace(plan, input=below.plan, array=below.over(plan.array, self._level)))
        if isinstance(plan, Join):
            return self._join(plan)
        if isinstance(plan, Combine):
            return self._combine(plan)
        if isinstance(plan, Aggregate):
            return self._aggregate(plan)
        if isinstance(plan, Top):
            return self._top(plan)
        if isinstance(plan, Over):
            return self._over(plan)
        what = "MINUS" if isinstance(plan, Minus) else "ASOF JOIN" if isinstance(plan, AsOf) else "a window"
        message = f"{what} over a query that names columns of the query around it is not possible"
        raise SashError(message, "name them above it")

    def _under(self, below: Tied, conditions: Sequence[Expression]) -> Tied:
        """The rows under conditions; one that says what a variable is equal to gives its values."""
        rest = []
        for condition in conditions:
            told = self._told(below, condition)
            if told is None:
                rest.append(condition)
            else:
                below = told
        below = self._with(below, self._read(rest))
        return replace(below, plan=filtered(below.plan, [below.over(condition, self._level) for condition in rest]))

    def _told(self, below: Tied, condition: Expression) -> Tied | None:
        if not isinstance(condition, Call) or condition.function not in ("equal", "null_safe_equal"):
            return None
        one, other = condition.arguments
        for variable, value in ((one, other), (other, one)):
            is_new = is_variable(variable, self._level) and variable not in below.variables
            if is_new and not names(value, self._level):
                return self._column(below, variable, below.over(value, self._level), condition.function == "equal")
        return None

    def _column(self, below: Tied, variable: Expression, value: Expression, is_solid: bool) -> Tied:
        plan, solid = below.plan, below.solid
        if is_solid:
            plan, solid = Filter(plan, build.call("is_not_null", [value])), solid | {variable}
        shown = (value, *columns(plan))
        return Tied(Project(plan, shown, (_name(variable), *plan.schema.names)), (variable, *below.variables), solid)

    def _project(self, plan: Project) -> Tied:
        below = self._with(self.tied(plan.input), self._read(plan.expressions))
        shown = (*columns(below.plan)[: below.shift], *(below.over(part, self._level) for part in plan.expressions))
        names = (*below.plan.schema.names[: below.shift], *plan.names)
        return replace(below, plan=Project(below.plan, shown, names))

    def _join(self, plan: Join) -> Tied:
        left, right = self.tied(plan.left), self.tied(plan.right)
        keys = [
            build.call("equal", [columns(left.plan)[mine + left.shift], _right(right.plan, theirs + right.shift)])
            for mine, theirs in zip(plan.left_keys, plan.right_keys, strict=True)
        ]
        rest = [] if plan.residual is None else list(conjuncts(plan.residual))
        return self._under(_joined(left, right, keys), rest)

    def _combine(self, plan: Combine) -> Tied:
        left, right = self.tied(plan.left), self.tied(plan.right)
        wanted = tuple(dict.fromkeys((*left.variables, *right.variables)))
        one, other = (_arranged(self._with(side, wanted), wanted) for side in (left, right))
        return Tied(Combine(one, other, plan.how), wanted, left.solid & right.solid)

    def _aggregate(self, plan: Aggregate) -> Tied:
        below = self.tied(plan.input)
        keys = (*range(below.shift), *(key + below.shift for key in plan.keys))
        calls = tuple(shifted(call, below.shift) for call in plan.calls)
        names = (*below.plan.schema.names[: below.shift], *plan.names)
        groups = replace(below, plan=Aggregate(below.plan, keys, calls, names))
        return groups if plan.keys else self._always(groups, calls)

    def _always(self, groups: Tied, calls: Sequence[AggregateCall]) -> Tied:
        """The groups, and those that have no rows."""
        every = Tied(self._values(groups.variables), groups.variables)
        found = matches.left_outer(_left(every.plan), _right_part(groups.plan), _ties(every, groups))
        shown: list[Expression] = [found.over(column) for column in columns(every.plan)]
        for place, call in enumerate(calls, groups.shift):
            shown.append(over_no_rows(call, found.over(_right(groups.plan, place))))
        return Tied(Project(found.plan, tuple(shown), groups.plan.schema.names), groups.variables)

    def _top(self, plan: Top) -> Tied:
        below = self.tied(plan.input)
        partition, order = _within(plan, below.shift)
        return replace(below, plan=replace(plan, input=below.plan, partition=partition, order=order))

    def _over(self, plan: Over) -> Tied:
        below = self.tied(plan.input)
        partition, order = _within(plan, below.shift)
        calls = tuple(_moved(call, below.shift) for call in plan.calls)
        return replace(below, plan=Over(below.plan, partition, order, calls, plan.names))

    def _read(self, expressions: Iterable[Expression]) -> Variables:
        return tuple(dict.fromkeys(v for expression in expressions for v in variables(expression, self._level)))

    def _with(self, below: Tied, wanted: Variables) -> Tied:
        """A plan with more variables: joined with their values."""
        missing = tuple(variable for variable in wanted if variable not in below.variables)
        if not missing:
            return below
        every = (*missing, *below.variables)
        values = Tied(self._values(every), every)
        if isinstance(below.plan, SingleRow):
            shown: list[Expression] = [*columns(values.plan), Literal(1, below.plan.schema.types[0])]
            return Tied(Project(values.plan, tuple(shown), (*values.plan.schema.names, *below.plan.schema.names)), every)
        return _joined(values, below, [])


def shifted(call: AggregateCall, by: int) -> AggregateCall:
    return replace(call, argument=_place(call.argument, by), second=_place(call.second, by))


def _moved(call: OverCall, by: int) -> OverCall:
    function = call.function if isinstance(call.function, WindowFunction) else shifted(call.function, by)
    return replace(call, function=function, argument=_place(call.argument, by), default=_place(call.default, by))


def _place(column: int | None, by: int) -> int | None:
    return None if column is None else column + by


def _within(plan: Top | Over, shift: int) -> tuple[tuple[int, ...], tuple[Order, ...]]:
    """The partition and the order of a plan, for every value of as many variables."""
    partition = (*range(shift), *(column + shift for column in plan.partition))
    return partition, tuple(replace(part, column=part.column + shift) for part in plan.order)


def over_no_rows(call: AggregateCall, value: Expression) -> Expression:
    """The value of a call, which is NULL where there are no rows, as it is over no rows."""
    return build.call("coalesce", [value, Literal(0, BIGINT)]) if call.function is Function.COUNT else value


def _joined(left: Tied, right: Tied, conditions: Sequence[Expression]) -> Tied:
    """Both, where they are equal in the variables of both; columns of the right in `conditions` are RightColumns."""
    found = match(_left(left.plan), _right_part(right.plan), [*_ties(left, right), *conditions]).pairs()
    own = [place for place, variable in enumerate(right.variables) if variable not in left.variables]
    kept = (*left.variables, *(right.variables[place] for place in own))
    shown: list[Leaf] = [
        *columns(left.plan)[: left.shift], *(_right(right.plan, place) for place in own),
        *columns(left.plan)[left.shift :], *_rights(right.plan)[right.shift :],
    ]  # fmt: skip
    plan = project(found.plan, [found.over(part) for part in shown], [part.name for part in shown])
    return Tied(plan, kept, left.solid | right.solid)


def _ties(left: Tied, right: Tied) -> list[Expression]:
    solid = left.solid | right.solid
    return [
        build.call(
            "equal" if variable in solid else "null_safe_equal",
            [columns(left.plan)[left.variables.index(variable)], _right(right.plan, place)],
        )
        for place, variable in enumerate(right.variables) if variable in left.variables
    ]  # fmt: skip


def _arranged(tied: Tied, wanted: Variables) -> Plan:
    """The plan with its variables in this order."""
    found = columns(tied.plan)
    shown = [*(found[tied.variables.index(variable)] for variable in wanted), *found[tied.shift :]]
    return project(tied.plan, shown, [column.name for column in shown])


def _left(plan: Plan) -> Part:
    return Part(plan, {place: place for place in range(len(plan.schema))})


def _right_part(plan: Plan) -> Part:
    return Part(plan, {RightPlace(place): place for place in range(len(plan.schema))})


def _right(plan: Plan, place: int) -> RightColumn:
    return _rights(plan)[place]


def _rights(plan: Plan) -> list[RightColumn]:
    return [on_right(column) for column in columns(plan)]


def _name(variable: Expression) -> str:
    return expression_text(variable)
