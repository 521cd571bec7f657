"""Set operators and negation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import BinarySpec
from sash.plan.nodes import Combination
from sash.plan.patterns import Pattern


@dataclass(frozen=True)
class UnionAllSpec(BinarySpec):
    """The rows of both inputs. Either both carry their expiry or both are signed."""

    @cached_property
    def lifetime(self) -> int | None:
        return self.left.lifetime if self.left.lifetime == self.right.lifetime else None

    @cached_property
    def pattern(self) -> Pattern:
        patterns = sorted((self.left.pattern, self.right.pattern))
        # Rows of two different windows leave in the order of neither; those that never leave do not disturb it.
        is_mixed = patterns == [Pattern.WEAKEST, Pattern.WEAKEST] and self.lifetime is None
        return Pattern.WEAK if is_mixed else patterns[1]


@dataclass(frozen=True)
class CombineSpec(BinarySpec):
    """Set operators of two inputs of signed changes; a union is none of them."""

    how: Combination

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class MinusSpec(BinarySpec):
    """Negation on key columns, of two inputs of signed changes."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    by_position: bool = False  # among rows of one instant, that of a stream counts, not the order of the full row

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
