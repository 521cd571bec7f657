"""Filters that read the same rows, tested together: of a few rows, most filters of many let none through, and are not run.

    row ─▶ v = 1 │ v = 2 │ … │ v = 1000     one pass over the conditions of all; who lets something through is run as ever
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.operators.filter.kernels import SIGNS, sift
from sash.operators.filter.operator import Filter

if TYPE_CHECKING:
    from sash.runtime.node import Node

FEW = 64  # rows that are tested so: of more, most filters let one through
MANY = 4  # filters for which it pays


class Sieve:
    """Some filters, and their conditions in one table."""

    def __init__(self, filters: Sequence[Node]) -> None:
        self._filters = filters
        tests = [node.operator.tests() for node in filters if isinstance(node.operator, Filter)]
        self._conditions = np.concatenate(tests)
        self._starts = np.cumsum([0, *map(len, tests)], dtype=np.int64)
        self._skipped, self._found = np.zeros((len(filters), SIGNS), np.int64), np.empty(len(filters), np.int64)

    def passing(self, delta: Delta, signs: tuple[int, int, int]) -> list[Node]:
        """Those of the filters that let a row through; for others it is noted how many they have seen."""
        count: int = sift(delta.rows, self._conditions, self._starts, *signs, self._skipped, self._found)
        return [self._filters[place] for place in self._found[:count].tolist()]

    def tell(self) -> None:
        """Let those that were not run count what they have seen."""
        for node, (positive, negative, messages) in zip(self._filters, self._skipped.tolist(), strict=True):
            traffic = node.metrics.arcs[0]
            traffic.positive += positive
            traffic.negative += negative
            traffic.messages += messages
        self._skipped.fill(0)


def sieve_of(readers: Sequence[Node]) -> tuple[Sieve | None, frozenset[int]]:
    """The filters among those who read an operator, if they are many, and their numbers."""
    filters = [node for node in readers if isinstance(node.operator, Filter) and node.is_handed_rows and node.operator.is_plain]
    if len(filters) < MANY:
        return None, frozenset()
    return Sieve(filters), frozenset(node.number for node in filters)
