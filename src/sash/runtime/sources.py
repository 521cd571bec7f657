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

    __slots__ = ("_has_new", "_ports", "_waiting", "clock")

    def __init__(self, ports: Sequence[Buffer]) -> None:
        self._ports = ports
        self.clock = BEGINNING
        self._waiting: list[tuple[int, int, Node]] = []  # a heap: an operator has nothing to do before an instant
        self._has_new = False  # somebody came, and perhaps has something to do where time is already

    def note(self, node: Node) -> None:
        """It is to be asked again at its next instant; one whose instant is told from outside, whenever time moves."""
        assert node.operator is not None
        self.note_at(BEGINNING if node.operator.is_told_its_instant else node.next_event, node)

    def note_at(self, instant: int, node: Node) -> None:
        """It is to be asked at this instant, if not before."""
        if instant < node.noted:
            node.noted = instant
            heappush(self._waiting, (instant, node.number, node))

    def note_anew(self, node: Node) -> None:
        """It is new, or has new readers: it may be that its instant has come already."""
        self._has_new = True
        self.note(node)

    def move(self) -> list[Node]:
        """Let time come to where all ports are; who has an instant that has come, to be noted when it has run."""
        ports = self._ports
        clock = ports[0].clock if len(ports) == 1 else min([port.clock for port in ports])
        if clock <= self.clock and not self._has_new:
            return []
        ready: list[Node] = []
        self._has_new = False
        if clock > self.clock:
            self.clock = clock
        if not self._waiting or self._waiting[0][0] >= self.clock:
            return ready
        for node in self._reached(self.clock):
            if node.next_event < self.clock and node.output.clock < self.clock:
                ready.append(node)
            else:
                self.note(node)
        return ready

    def _reached(self, clock: int) -> list[Node]:
        waiting = self._waiting
        found: list[Node] = []
        while waiting and waiting[0][0] < clock:
            instant, _, node = heappop(waiting)
            if instant == node.noted:  # else it was noted again, for an earlier one
                node.noted = FOREVER
                found.append(node)
        return found
