"""Expressions over columns: the one entry for operators and readers."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

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
    return Frame(columns, length, failures, _IMPLEMENTATIONS, counted).value(expression)
