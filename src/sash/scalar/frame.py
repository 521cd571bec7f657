"""One evaluation of an expression over the rows of a batch.

Branches that a row does not take are computed all the same, for whole columns, but a failure counts only in the rows
that get there: `IF(x = 0, NULL, 1 / x)` never fails. `active` marks those rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.scalar.arrays import Mask, blank, combined
from sash.scalar.failures import Failures
from sash.scalar.nodes import Call, Column, Expression, Literal, Reference, unfinished
from sash.scalar.user_functions import UserFunction


@dataclass(frozen=True)
class Frame:
    """The input of an evaluation, and where its failures go."""

    columns: Mapping[int, pa.Array]
    length: int
    failures: Failures
    implementations: Mapping[str, Implementation]
    active: Mask | None = None  # None: every row

    def value(self, expression: Expression) -> pa.Array:
        """The values of an expression, one for every row, of exactly its type; those of a column are so already."""
        if isinstance(expression, Column):
            return combined(self.columns[expression.index])
        if isinstance(expression, Literal):
            if expression.value is None or not self.length:
                return pa.nulls(self.length, expression.type.arrow)
            return pa.repeat(pa.scalar(expression.value, expression.type.arrow), self.length)
        if isinstance(expression, Reference):
            raise unfinished(expression)
        if expression.user is not None:
            return self._user(expression, expression.user)
        result = combined(self.implementations[expression.function](self, expression))
        return result if result.type == expression.type.arrow else result.cast(expression.type.arrow)

    def _user(self, call: Call, function: UserFunction) -> pa.Array:
        """Code of the user may fail as it likes: its rows give NULL and are counted."""
        arguments = self.arguments(call)
        try:
            return combined(function(arguments, self.length))
        except Exception as error:
            nothing = pa.nulls(self.length, call.type.arrow)
            return self.failing(nothing, np.ones(self.length, np.bool_), f"{function.name}: {error}", arguments)

    def arguments(self, call: Call) -> list[pa.Array]:
        return [self.value(argument) for argument in call.arguments]

    def only(self, rows: Mask) -> Frame:
        """The same, but failures outside of the rows do not count."""
        return replace(self, active=rows if self.active is None else rows & self.active)

    def failing(self, result: pa.Array, rows: Mask, reason: str, arguments: Sequence[pa.Array]) -> pa.Array:
        """The result, NULL in the marked rows, which are counted; the arguments of the first are the example."""
        counted = rows if self.active is None else rows & self.active
        count = int(np.count_nonzero(counted))
        if count:
            place = int(np.argmax(counted))
            self.failures.count(reason, count, ", ".join(str(argument[place]) for argument in arguments))
        return blank(result, rows)


Implementation = Callable[[Frame, Call], pa.Array]
