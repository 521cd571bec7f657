"""Every row once."""

from __future__ import annotations

from dataclasses import dataclass

from sash.operators.spec import UnarySpec
from sash.plan.patterns import Pattern


@dataclass(frozen=True)
class DistinctSpec(UnarySpec):
    """Every row once, of an input whose rows carry their expiry."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
