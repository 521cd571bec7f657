"""What is asked of operators that do the work of several specs, which are taps of theirs (`many_outputs.py`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from sash.operators.spec import Spec


class SharedSpec(Spec):
    """An operator with several outputs, told of by who shows which queries share work."""

    @property
    @abstractmethod
    def shown_as(self) -> str:
        """The column of SHOW QUERIES that tells of it."""

    @property
    @abstractmethod
    def has_turns(self) -> bool:
        """Whether its taps are served one after the other, by a schedule that people choose."""

    @abstractmethod
    def summary(self, taps: Iterable[Spec], queries: int) -> str:
        """What runs in it, for how many queries."""
