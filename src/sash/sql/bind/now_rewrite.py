"""NOW(): the time of the query, as plans.

A comparison of a row with NOW() changes at an instant that the row names (`instants.py`); a function of NOW() that tells less
than the instant changes when a period ends (`periods.py`). Anything else would change all the time, and is refused.

        Filter, Project      over the answers and the periods
        CurrentPeriod                when each of the current periods began; all rows change when one ends
        TimePredicate              one answer for every instant; a row changes when its instants come
        Project              the instants, as numbers of microseconds, beside the input's columns
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sash.errors import SashError
from sash.interned import remembered
from sash.plan.current_period import CurrentPeriod
from sash.plan.nodes import Filter, Join, Plan, Project, Scan
from sash.plan.nodes import Sequence as Pairs
from sash.plan.rules.conditions import conjunction, conjuncts, parted
from sash.plan.tables import is_non_retroactive
from sash.plan.time_predicate import TimePredicate
from sash.plan.unnest import Unnest
from sash.scalar.nodes import Call, Column, Expression, calls, remap, replaced
from sash.sql.bind.instants import MIRRORED, REACHED, Unsolved, question
from sash.sql.bind.now import NOW, misplaced, reads_time
from sash.sql.bind.periods import TICK, period_of, ticking
from sash.sql.bind.projections import columns, cut
from sash.tree import rebuild


@remembered
def settle_time(plan: Plan) -> Plan:
    """A plan without NOW(); parts that never had it are left as they are."""
    if isinstance(plan, Scan):
        return plan
    if isinstance(plan, Join):
        plan = _above_lookup(plan)
    plan = rebuild(plan, settle_time)
    if isinstance(plan, Filter) and reads_time(plan.predicate):
        return _filter(plan)
    if isinstance(plan, Project) and any(map(reads_time, plan.expressions)):
        wide, expressions = _told(plan.input, [_answered(part) for part in plan.expressions])
        return Project(wide, tuple(expressions), plan.names)
    if isinstance(plan, Unnest) and reads_time(plan.array):
        return _unnest(plan)
    if isinstance(plan, Join) and plan.residual is not None and reads_time(plan.residual):
        return _filter(Filter(replace(plan, residual=None), plan.residual))
    if isinstance(plan, Pairs) and plan.residual is not None and reads_time(plan.residual):
        raise misplaced()
    return plan


def _above_lookup(plan: Join) -> Join:
    """What a row finds in a NON RETROACTIVE table is found when it comes; what is asked of it with NOW() goes on changing."""
    width, lifted = len(plan.left.schema), []
    sides: dict[str, Plan] = {"left": plan.left, "right": plan.right}
    for name, side in sides.items():
        while isinstance(side, Filter) and is_non_retroactive(side) and reads_time(side.predicate):
            timed, plain = parted(conjuncts(side.predicate), reads_time)
            places = {place: place + width * (name == "right") for place in range(len(side.schema))}
            lifted += [remap(condition, places) for condition in timed]
            side = Filter(side.input, conjunction(plain)) if plain else side.input
        if is_non_retroactive(side) and _reads_time_below(side):
            raise SashError("NOW() cannot be part of a NON RETROACTIVE table", "read it above the join with the table")
        sides[name] = side
    if not lifted:
        return plan
    residual = [*lifted] if plan.residual is None else [plan.residual, *lifted]
    return replace(plan, left=sides["left"], right=sides["right"], residual=conjunction(residual))


def _reads_time_below(plan: Plan) -> bool:
    """Of a table, filtered or projected."""
    if isinstance(plan, Project) and any(map(reads_time, plan.expressions)):
        return True
    if isinstance(plan, Filter) and reads_time(plan.predicate):
        return True
    return isinstance(plan, Filter | Project) and _reads_time_below(plan.input)


def _filter(plan: Filter) -> Plan:
    """What does not read the time comes first, what changes with every period last."""
    conditions = [_answered(condition) for condition in conjuncts(plan.predicate)]
    ticks = [condition for condition in conditions if _has(condition, TICK)]
    answers = [condition for condition in conditions if _has(condition, REACHED) and condition not in ticks]
    plain = [condition for condition in conditions if condition not in ticks and condition not in answers]
    below = Filter(plan.input, conjunction(plain)) if plain else plan.input
    for timed in (answers, ticks):
        if timed:
            wide, told = _told(below, timed)
            below = cut(Filter(wide, conjunction(told)), 0, len(plan.schema))
    return below


def _unnest(plan: Unnest) -> Plan:
    width = len(plan.input.schema)
    wide, (array,) = _told(plan.input, [_answered(plan.array)])
    apart = replace(plan, input=wide, array=array)
    kept = [column for column in columns(apart) if not width <= column.index < len(wide.schema)]
    return Project(apart, tuple(kept), plan.schema.names)


def _told(plan: Plan, expressions: Sequence[Expression]) -> tuple[Plan, list[Expression]]:
    """A plan that has all answers and periods which some expressions over it ask for, and the expressions over that.

    Expressions that ask for none are computed below: once for every row, not whenever the time changes it.
    """
    questions, ticks = _all(expressions, REACHED), _all(expressions, TICK)
    plain = list(dict.fromkeys(e for e in expressions if isinstance(e, Call) and not _has(e, REACHED) and not _has(e, TICK)))
    instants = [call.arguments[0] for call in questions]
    width = len(plan.schema)
    if plain or instants:
        names = [f"{what}{n + 1}" for what, new in (("value", plain), ("instant", instants)) for n in range(len(new))]
        plan = Project(plan, (*columns(plan), *plain, *instants), (*plan.schema.names, *names))
    found: dict[Expression, Column] = dict(zip(plain, columns(plan)[width:], strict=False))
    if questions:
        first = width + len(plain)
        plan = TimePredicate(plan, tuple(range(first, first + len(instants))))
        found |= zip(questions, columns(plan)[-len(questions) :], strict=True)
    if ticks:
        plan = CurrentPeriod(plan, tuple(map(period_of, ticks)))
        found |= zip(ticks, columns(plan)[-len(ticks) :], strict=True)
    return plan, [replaced(expression, found.get) for expression in expressions]


def _all(expressions: Sequence[Expression], function: str) -> list[Call]:
    """All calls of a function, each once."""
    return list(dict.fromkeys(call for expression in expressions for call in calls(expression) if call.function == function))


def _has(expression: Expression, function: str) -> bool:
    return any(call.function == function for call in calls(expression))


def _answered(expression: Expression) -> Expression:
    """An expression in which comparisons with NOW() are questions, and functions of it are those of a period."""
    return replaced(expression, _answer)


def _answer(part: Expression) -> Expression | None:
    if not isinstance(part, Call) or not reads_time(part):
        return part
    if part == NOW:
        raise misplaced()
    if part.function in MIRRORED:
        with suppress(Unsolved):
            return question(part)
    return ticking(part)
