"""Ports that operators read in the end, how far time is in all of them, and which operators have something to do when."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from sash.runtime.arcs import Buffer
from sash.schema import BEGINNING, FOREVER

if TYPE_CHECKING:
    from sash.runtime.node import Node


class Sources:
    """Of all operators over the same ports. None of them works beyond `clock`, and all may work up to it."""

    __slots__ = ("_ports", "_waiting", "clock")

    def __init__(self, ports: Sequence[Buffer]) -> None:
        self._ports = ports
        self.clock = BEGINNING
        self._waiting: list[tuple[int, int, Node]] = []  # a heap: an operator has nothing to do before an instant

    def note(self, node: Node) -> None:
        """It is to be asked again at its next instant; one whose instant is told from outside, whenever time moves."""
        assert node.operator is not None
        instant = BEGINNING if node.operator.is_told_its_instant else node.next_event
        if instant < node.noted:
            node.noted = instant
            heappush(self._waiting, (instant, node.number, node))

    def move(self) -> list[Node]:
        """Let time come to where all ports are; the operators for which an instant has come."""
        clock = min([port.clock for port in self._ports])
        if clock <= self.clock:
            return []
        self.clock = clock
        waiting = self._waiting
        asked: list[Node] = []
        while waiting and waiting[0][0] < clock:
            instant, _, node = heappop(waiting)
            if instant == node.noted:  # else it was noted again, for an earlier one
                node.noted = FOREVER
                asked.append(node)
        ready = [node for node in asked if node.output.clock < clock and node.next_event < clock]
        for node in asked:
            self.note(node)
        return ready
