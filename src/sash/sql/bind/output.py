"""The select list over a plan, and its first rows: of an order, or of every partition by ROW_NUMBER.

What an order needs besides the select list is computed beside it, and cut off again above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sash.plan.expression_text import expression_text
from sash.plan.nodes import Plan, Top
from sash.scalar.nodes import Column, Expression
from sash.schema import BIGINT
from sash.sql.bind.numbering import NUMBER, UNLIMITED, Bounds, trimmed
from sash.sql.bind.ordering import Limit, Ordering
from sash.sql.bind.projections import columns, cut, project
from sash.sql.syntax.text_positions import fault


@dataclass(frozen=True)
class Numbering:
    """What ROW_NUMBER counts: expressions over the same plan as the select list."""

    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]


@dataclass(frozen=True)
class Output:
    """The items of a select list, as expressions over a plan; NUMBER stands for that of the row."""

    plan: Plan
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    def projected(self) -> Plan:
        plan, expressions = trimmed(self.plan, self.expressions)
        return project(plan, expressions, self.names)

    def first(self, order: Sequence[Ordering], limit: Limit) -> Plan:
        wide, places = self._beside([part.expression for part in order])
        rows = limit.top(wide, [part.at(places[part.expression]) for part in order])
        return cut(rows, 0, len(self.expressions))

    def first_of_items(self, plan: Plan, order: Sequence[Ordering], limit: Limit) -> Plan:
        """The first rows of a plan that has the items as columns; only they can be ordered by."""
        for part in order:
            if part.expression not in self.expressions:
                raise fault(part.node, "with DISTINCT or ROW_NUMBER, ORDER BY takes items of the select list only")
        return limit.top(plan, [part.at(self.expressions.index(part.expression)) for part in order])

    def numbered(self, numbering: Numbering, bounds: Bounds) -> Plan:
        """The rows with their numbers, as far as these bounds go."""
        own = [n for n, item in enumerate(self.expressions) if item != NUMBER]
        items = Output(self.plan, tuple(self.expressions[n] for n in own), tuple(self.names[n] for n in own))
        wide, places = items._beside([*numbering.partition, *(part.expression for part in numbering.order)])
        partition = tuple(dict.fromkeys(places[part] for part in numbering.partition))
        order = tuple(part.at(places[part.expression]) for part in numbering.order)
        names = [self.names[n] for n, item in enumerate(self.expressions) if item == NUMBER]
        top = Top(wide, partition, order, UNLIMITED, numbered=names[0] if names else None)
        rows = bounds.limit(top) if bounds.greatest < UNLIMITED else top
        number = Column(len(wide.schema), BIGINT, NUMBER.name)
        found = iter(columns(wide))
        return project(rows, [number if item == NUMBER else next(found) for item in self.expressions], self.names)

    def _beside(self, expressions: Sequence[Expression]) -> tuple[Plan, dict[Expression, int]]:
        """The items, then those of the expressions that are none; and where everything is."""
        extra = [part for part in dict.fromkeys(expressions) if part not in self.expressions]
        everything = [*self.expressions, *extra]
        places = {part: place for place, part in reversed(list(enumerate(everything)))}
        names = [*self.names, *(expression_text(part) for part in extra)]
        return Output(self.plan, tuple(everything), tuple(names)).projected(), places
