"""The enhanced query graph: how time gets to those who wait for it. (Seed 004, section 4.)

    port ──▶ filter ──▶ project ──▶ union ──▶ filter ──▶ join          rows
      ╰┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▶╯ ╰┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▶╯           time

Operators that may wait for time (those with several inputs, and those that give something when time passes) are joined by direct
arcs of time; a port counts as one of them. Others neither use nor change time and are passed by.

Time moves on demand. An operator that waits asks those on its arcs of time, they ask in turn, and ports answer with the clock of
their source. The answers come back through the registers, and each goes one way once: a register is active from when it is set
until its operator has used its value or handed it on. This happens only while no operator has rows to work off, so that no row is
on its way between two ends of an arc of time. In the middle of a step, where a walk back from one who waits ends at a source,
rows may be on their way elsewhere; then what is promised is also bounded by the first of them.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from enum import Enum

from sash.runtime.node import Node


class Timing(Enum):
    """How time gets to those who wait."""

    DIRECT = "direct"  # along the arcs of time
    PUNCTUATION = "punctuation"  # through every operator on the way, as rows do: for comparison
    ROWS = "rows"  # not at all: an operator knows of time what its rows tell. For comparison: answers come late, or not


Arcs = tuple[tuple[int, ...], ...]  # for every input: where its time comes from


def arcs_of_time(nodes: Sequence[Node], inputs: Sequence[Sequence[int]]) -> list[Arcs]:
    """For every input of every operator, the ports and waiting-prone operators it is reached from without passing another one."""
    ends: list[tuple[int, ...]] = []  # where an arc of time begins that leads up from a node: there, or below
    found: list[Arcs] = []
    for node, below in zip(nodes, inputs, strict=True):
        sides = tuple(ends[number] for number in below)
        found.append(sides)
        is_end = node.operator is None or node.is_waiting_prone
        ends.append((node.number,) if is_end else tuple(dict.fromkeys(end for side in sides for end in side)))
    return found


class Demand:
    """One round of asking, while the clocks of the ports stand still: everybody is asked once."""

    def __init__(self, nodes: Sequence[Node], arcs: Sequence[Arcs]) -> None:
        self._nodes, self._arcs = nodes, arcs
        self._asked: set[int] = set()
        self.messages = 0  # registers that were set

    def ask(self, number: int) -> None:
        """Bring the registers of an operator up to what the sources can promise now; those below it come first."""
        for one in self._unasked(number):
            for arc, sources in zip(self._nodes[one].arcs, self._arcs[one], strict=True):
                promised = min(map(self._promise, sources))
                if promised > arc.clock:
                    arc.register = promised
                    self.messages += 1

    def _unasked(self, number: int) -> list[int]:
        """An operator and those that it has its time from, in the order of the graph: they are asked now."""
        found, waiting = list[int](), [number]
        while waiting:
            one = waiting.pop()
            if one not in self._asked:
                self._asked.add(one)
                found.append(one)
                waiting += (source for sources in self._arcs[one] for source in sources)
        return sorted(found)

    def _promise(self, number: int) -> int:
        """What one at the beginning of an arc of time can say."""
        node = self._nodes[number]
        return node.output.clock if node.operator is None else node.reach


def promise(nodes: Sequence[Node], inputs: Sequence[Sequence[int]], number: int, known: dict[int, int]) -> int:
    """No change before this instant will come out of an operator any more, though rows may be on their way to it."""
    for one in _unknown(inputs, number, known):
        node = nodes[one]
        if node.operator is None:
            known[one] = node.output.clock
        else:
            bounds = [min(arc.first, max(arc.clock, known[below])) for arc, below in zip(node.arcs, inputs[one], strict=True)]
            known[one] = max(node.output.clock, min(node.due, *bounds))
    return known[number]


def _unknown(inputs: Sequence[Sequence[int]], number: int, known: Container[int]) -> list[int]:
    """An operator and all below it that nothing is known of yet, in the order of the graph."""
    found, waiting = set[int](), [number]
    while waiting:
        one = waiting.pop()
        if one not in known and one not in found:
            found.add(one)
            waiting += inputs[one]
    return sorted(found)
