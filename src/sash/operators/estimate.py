"""What is expected of an edge: how many rows a second come, how many are there, how many values their columns have.

Independence and uniform values are assumed, as in the cost models that seed 003, section 5.4 builds on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import expm1, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sash.operators.spec import Spec

LEAST, MOST = 1e-9, 1e100  # numbers that are reckoned with: the product of many joins has no end


@dataclass(frozen=True)
class Estimate:
    """Of one edge."""

    rate: float  # rows that come, a second
    rows: float  # that are there
    values: tuple[float, ...]  # of every column, how many different ones there can be
    premature: float = 0.0  # the share of rows that leave before their time
    leaves: bool = True

    @property
    def distinct_rows(self) -> float:
        """Of the rows that are there, how many are different."""
        return self.groups(range(len(self.values)))

    @property
    def changes(self) -> float:
        """Of a signed edge, a second."""
        return 2 * self.rate if self.leaves else self.rate

    def domain(self, columns: Sequence[int]) -> float:
        """How many different values these columns can have together."""
        return min(MOST, max(1.0, prod(self.values[column] for column in columns)))

    def groups(self, columns: Sequence[int]) -> float:
        """How many of them are expected among the rows."""
        domain = self.domain(columns)
        return -domain * expm1(-self.rows / domain)


def as_first_input(spec: Spec, inputs: Sequence[Estimate]) -> Estimate:
    """As many rows as the first input has; of new columns nothing is known."""
    values = [value for one in inputs for value in one.values]
    values += [inputs[0].rows] * (len(spec.schema) - len(values))
    return replace(inputs[0], values=tuple(values[: len(spec.schema)]))


def equal_keys(left: Estimate, right: Estimate, left_keys: Sequence[int], right_keys: Sequence[int]) -> float:
    """The share of all pairs whose keys are equal."""
    pairs = zip(left_keys, right_keys, strict=True)
    return prod(1 / max(1.0, left.values[mine], right.values[theirs]) for mine, theirs in pairs)
