"""Expressions over columns: the one entry for operators and readers."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from sash.errors import SashError
from sash.scalar.arrays import Mask
from sash.scalar.failures import Failures
from sash.scalar.frame import Frame
from sash.scalar.functions import FUNCTIONS
from sash.scalar.nodes import Expression

__all__ = ["Failures", "evaluate"]

_IMPLEMENTATIONS = {name: function.evaluate for name, function in FUNCTIONS.items()}


def evaluate(
    expression: Expression, columns: Mapping[int, pa.Array], length: int, failures: Failures, counted: Mask | None = None
) -> pa.Array:
    """The value of the expression for every row; a row on which it fails gives NULL and is counted, if it is to be."""
    met = Failures()
    try:
        result = Frame(columns, length, met, _IMPLEMENTATIONS, counted).value(expression)
    except pa.ArrowCapacityError:
        return _by_halves(expression, columns, length, failures, counted)
    failures.add(met)
    return result


def _by_halves(
    expression: Expression, columns: Mapping[int, pa.Array], length: int, failures: Failures, counted: Mask | None
) -> pa.Array:
    """Texts on the way to the result have more bytes than one array holds: fewer rows at once, down to one, have less."""
    if length == 1:
        if counted is None or counted[0]:
            failures.count("a text has more than 2 GB", 1, "")
        return pa.nulls(1, expression.type.arrow)
    parts = []
    for start, count in ((0, length // 2), (length // 2, length - length // 2)):
        some = {place: column.slice(start, count) for place, column in columns.items()}
        parts.append(evaluate(expression, some, count, failures, None if counted is None else counted[start : start + count]))
    try:
        return pa.concat_arrays(parts)
    except pa.ArrowInvalid as error:
        raise SashError(
            "the texts of one column in one batch have more than 2 GB", "push fewer rows at once, or set batch_rows"
        ) from error
