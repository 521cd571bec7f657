"""Failures of expressions: a row that fails gives NULL and is counted here, with one example, for the user to see."""

from __future__ import annotations


class Failures:
    """Counts per reason, each with the first example that was met."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, object] = {}

    def count(self, reason: str, count: int, example: object) -> None:
        if count == 0:
            return
        self._counts[reason] = self._counts.get(reason, 0) + count
        self._examples.setdefault(reason, example)

    def add(self, others: Failures) -> None:
        for failure in others.items():
            self.count(*failure)

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    def items(self) -> list[tuple[str, int, object]]:
        """Reason, count and example, in the order in which the reasons were first met."""
        return [(reason, count, self._examples[reason]) for reason, count in self._counts.items()]
