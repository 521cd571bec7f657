"""Families: nodes of a graph that are run together where rows are few, by one call into compiled code. A line of a family is what
a row goes through: a filter and a window, or one of them, or none, and the GROUP BY that reads it alone.

    open      the family lets time pass in all of its members, and takes the rows (`operators/filtered_groups/siblings.py`)
    closed    every member is a node as all others; so it is whenever a step is anything but small

What members have done is added to their metrics when somebody asks.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

from sash.deltas import Delta
from sash.operators.filter.routing import FEW
from sash.operators.filtered_groups.siblings import LONGEST, Chain, Siblings, chain_of
from sash.runtime.node import Node
from sash.schema import BEGINNING, FOREVER

NOT_ASKED = BEGINNING - 1  # no instant is earlier, so nobody is noted for one


class Line(NamedTuple):
    """Nodes, each of which reads the one before, and their operators."""

    nodes: list[Node]
    chain: Chain


class Family:
    """Lines that read one source."""

    def __init__(self, source: Node, lines: list[Line]) -> None:
        self.source = source
        self._lines, self._groups = [line.nodes for line in lines], [line.nodes[-1] for line in lines]
        self._siblings = Siblings([line.chain for line in lines], source.spec.layout.width, FEW)
        self._clock, self._rows, self._seconds = BEGINNING, 0, 0.0
        self.is_open = False
        for node in self._members:
            node.family = self

    @property
    def _members(self) -> list[Node]:
        return [node for line in self._lines for node in line]

    @property
    def firsts(self) -> list[Node]:
        """Those who read the source."""
        return [line[0] for line in self._lines]

    def hides(self, node: Node) -> bool:
        """Whether nobody sees what a member gives while it runs with the others."""
        return node not in self._groups

    @property
    def is_due(self) -> bool:
        """Whether time alone makes a member give something."""
        return self.is_open and self._siblings.due < self.source.sources.clock

    def open(self) -> bool:
        """Run members together from now on; not while rows wait in front of one."""
        if not all(node.output.is_clear and node.arcs[0].first == FOREVER for node in self._members):
            return False
        self.is_open = True
        self._siblings.give_over()
        for groups in self._groups:
            groups.noted, groups.is_ready = NOT_ASKED, False
        return True

    def close(self) -> list[Node]:
        """Members are nodes as others again; those of them that wait for an instant, to be noted."""
        if not self.is_open:
            return []
        self.is_open = False
        self._siblings.take_over()
        for node in self._members:
            node.output.promise(self._clock)
        for groups in self._groups:
            groups.noted = FOREVER
        return self._groups

    def disband(self) -> None:
        """It was closed, and is no more."""
        self.tell()
        self.source.offspring = []
        for node in self._members:
            node.family = None

    def run(self, delta: Delta, weight: int) -> None:
        """Rows that enter, and time up to where it is; what it takes counts so many times."""
        started = perf_counter() if weight else 0.0
        self._clock = self.source.sources.clock
        self._rows += len(delta.ts)
        for place, changes in self._siblings.run(delta, self._clock):
            node = self._groups[place]
            if node.results is not None:
                node.results.append((node, changes))
        if weight:
            self._seconds += weight * (perf_counter() - started)

    def pass_time(self, weight: int) -> None:
        """The same without rows."""
        self.run(self.source.output.nothing, weight)

    def tell(self) -> None:
        """Before somebody looks at what members have counted."""
        seconds = self._seconds / len(self._lines)
        for line, (passed, came, went) in zip(self._lines, self._siblings.take_counts(), strict=True):
            taken = self._rows
            for node in line:
                node.metrics.arcs[0].positive += taken
                node.metrics.seconds += seconds / len(line)
                if node is not line[-1]:
                    node.metrics.out.positive += passed
                taken = passed
            line[-1].metrics.out.positive += came
            line[-1].metrics.out.negative += went
        self._rows, self._seconds = 0, 0.0


def families_of(source: Node) -> list[Family]:
    """Of those who read a node, all of whom are known to each other, those that can be run together."""
    by_width: dict[int, list[Line]] = {}
    for _, reader in source.direct:
        line = _line_from(reader)
        if line is not None and line.nodes[-1].sources is source.sources:
            by_width.setdefault(line.nodes[-1].spec.layout.width, []).append(line)
    return [Family(source, lines) for lines in by_width.values()]


def _line_from(node: Node) -> Line | None:
    """What rows go through one after the other, up to a GROUP BY that nobody reads."""
    nodes, last = [node], node
    while len(nodes) < LONGEST and _is_hidden(last) and last.only is not None:
        last = last.only
        nodes.append(last)
    is_free = last.is_handed_rows and not last.output.arcs and last.begins_with is None and last.early is None
    chain = chain_of([one.operator for one in nodes]) if is_free else None
    return None if chain is None else Line(nodes, chain)


def _is_hidden(node: Node) -> bool:
    """Whether nobody looks at a node but the one who reads it, and rows are all that it works on."""
    return node.is_handed_rows and node.needs_only_rows and node.results is None and node.early is None
