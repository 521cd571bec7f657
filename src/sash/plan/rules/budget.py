"""What a search for plans may still look at, counted in nodes and never in time: what is found is a function of the text."""

from __future__ import annotations


class Budget:
    """A number of nodes, of which some are taken at every step; when none is left, the search ends with what it has."""

    def __init__(self, nodes: int, grows: bool = False) -> None:
        self._left = nodes
        self.grows = grows  # whether a plan of the search was seen to grow without end where filters sink everywhere

    def take(self, nodes: int) -> None:
        self._left -= nodes

    @property
    def is_spent(self) -> bool:
        return self._left < 0
