"""Joins of arriving rows with a table as it is when they arrive."""

from __future__ import annotations

from dataclasses import dataclass

from sash.operators.join.spec import JoinSpec
from sash.plan.patterns import Pattern


@dataclass(frozen=True)
class LookupSpec(JoinSpec):
    """Join of arriving rows with a table as it is when they arrive; later changes of the table touch only later rows."""

    @property
    def pattern(self) -> Pattern:
        return self.left.pattern


@dataclass(frozen=True)
class SignedLookupSpec(LookupSpec):
    """The same for rows that leave by a negative one, which takes back what was given for them."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
