"""A step in one pass: what has something to do runs once, up to where the clocks of its ports are.

    rows     port ─▶ window ─▶ filter ─▶ …      one with a single input is handed its rows at once: nothing lies between them
                                                (of many filters, those that want some: `operators/filter/routing.py`)
                         ╰▶ join                one with several waits until all with smaller numbers have run: it has all then
    time     ┄┄▶ expire                         those whose next instant has come run too; nobody else is looked at

So a step costs what its rows and the instants that are due cost, however large the graph is. Who has something to do at which
instant is kept between steps, for all operators over the same ports together (`sources.py`).

This is what the schedule by load comes to where a step is one batch. Where rows become more than that on their way, the pass
stops, and the cycle (`cycle.py`) goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from time import perf_counter

from sash.deltas import Delta
from sash.operators.filter.routing import FEW as FEW_SIFTED
from sash.runtime.arcs import Arc, Buffer
from sash.runtime.families import Family
from sash.runtime.node import Begins, Node, signs_of
from sash.runtime.readers import count_skipped, is_to_be_looked_at, look_at_more_readers, look_at_readers, look_for_families
from sash.runtime.sources import Sources
from sash.schema import FOREVER

ONE_IN = 16  # steps of few rows of which one is timed, and stands for all of them
FEW = 1024


class OnePass:
    """Runs the operators of a graph that have something to do, inputs first."""

    def __init__(self) -> None:
        self.is_stale = True  # operators came or went, or were run by somebody else
        self.messages = 0  # how often an operator was run because an instant had come
        self._nodes: Sequence[Node] = ()
        self._looked_at = 0  # so many of them, the first ones, have been looked at
        self._families: list[Family] = []
        self._sources: dict[tuple[int, ...], Sources] = {}  # by the ports
        self._listed: list[int] = []  # a heap: numbers of operators that are to run when all before them have
        self._filled: list[Buffer] = []  # where rows lie that somebody has not read
        self._steps, self._time_weight, self._batch, self._has_too_much = 0, 1, 0, False
        self._begins: Begins = {}

    def knows(self, node: Node) -> bool:
        """Whether it has been looked at."""
        return not self.is_stale and node.number < self._looked_at

    def prepare(self, nodes: Sequence[Node], inputs: Sequence[Sequence[int]]) -> None:
        """Look at the graph: who reads whom, and who waits for what; of one that has only grown, at what is new."""
        if self.is_stale:
            self._listed.clear()
            self._keep_given()
            self.count_skipped()
            for family in self._families:
                family.disband()
            self._nodes, self._looked_at, self._sources, self._filled, self.is_stale = nodes, 0, {}, [], False
            self._families = []
        if len(nodes) > self._looked_at:
            self._look_on(nodes, inputs)

    def _look_on(self, nodes: Sequence[Node], inputs: Sequence[Sequence[int]]) -> None:
        new, known = nodes[self._looked_at :], self._looked_at
        grown = [nodes[number] for number in sorted({below for sources in inputs[known:] for below in sources}) if number < known]
        if any(node.family is not None for node in grown):
            self.is_stale = True  # one of those that run together is read by others now
            self.prepare(nodes, inputs)
            return
        self._disband([family for node in grown if is_to_be_looked_at(node) for family in node.offspring])
        for node in new:
            if node.ports not in self._sources:
                self._sources[node.ports] = Sources([nodes[port].output for port in node.ports])
            node.sources, node.noted, node.is_ready = self._sources[node.ports], FOREVER, False
        for node in new:
            look_at_readers(node, nodes)
        for node in grown:
            look_at_more_readers(node, nodes)
        self._look_for_families(node for node in (*grown, *new) if node.looked_at == len(node.readers))
        for node in (*new, *grown):
            if node.operator is not None:
                node.sources.note_anew(node)
        filled = dict.fromkeys(self._filled)
        self._filled += [node.output for node in (*new, *grown) if not node.output.look() and node.output not in filled]
        self._looked_at = len(nodes)

    def _look_for_families(self, nodes: Iterable[Node]) -> None:
        """Among the readers of these, all of which were just looked at, inputs first: the longest lines are found."""
        for node in nodes:
            if node.family is None and not node.offspring:
                look_for_families(node)
                self._families += node.offspring

    def _disband(self, families: Iterable[Family]) -> None:
        """Their sources have many more readers now."""
        for family in families:
            self._close(family)
            family.disband()
            self._families.remove(family)

    def _close(self, family: Family) -> None:
        """Its members have rows, and time, as all others."""
        for node in family.close():
            if node.next_event < node.sources.clock:
                self._list(node)
            else:
                node.sources.note(node)

    def step(self, fed: Iterable[tuple[Node, Delta]], begins: Begins, load: int, batch: int) -> bool:
        """Work off the rows of ports, whose clocks have moved already. Whether that was all; else the cycle is to go on."""
        self._begins, self._batch, self._has_too_much = begins, batch, False
        self._steps += 1
        self.is_stale = True  # until the end, which an error may keep it from
        self._time_weight = self._seconds_stand_for(load)
        for sources in self._sources.values():
            for node in sources.move():
                self.messages += 1
                self._list(node)
        for port, delta in fed:
            if len(delta.ts):
                self._work_on(port, delta)
        while self._listed and not self._has_too_much:
            node = self._nodes[heappop(self._listed)]
            if node.is_ready:  # else it has been handed rows, and has run
                self._run_listed(node)
        for family in self._families:
            if family.is_due and not self._has_too_much:
                self.messages += 1
                family.pass_time(self._time_weight)
        self._end()
        return not self._has_too_much

    def _seconds_stand_for(self, load: int) -> int:
        """How many steps like this one are counted by what it takes; 0 of one that is not timed."""
        if load > FEW or self._steps <= ONE_IN:
            return 1
        return ONE_IN if self._steps % ONE_IN == 0 else 0

    def _list(self, node: Node) -> None:
        if not node.is_ready:
            node.is_ready = True
            heappush(self._listed, node.number)

    def _run_listed(self, node: Node) -> None:
        now = node.sources.clock
        if node.cut(now, self._batch, self._begins) < now:
            self._has_too_much = True
            return
        given = self._run(node, [arc.take(now) for arc in node.arcs], now)
        if node.is_on_its_way:
            self._leave(node, given, now)
            return
        if not node.is_waiting_prone and node.arcs[0].first != FOREVER:
            node.sources.note(node)
        if len(given.ts):
            self._work_on(node, given)
        for tap, delta, _ in node.tapped():
            if len(delta.ts):
                self._work_on(tap, delta)

    def _work_on(self, node: Node, delta: Delta) -> None:
        """Let those work on rows who read them, one after the other, and at once who reads those."""
        waiting: list[tuple[Node, Delta]] = []
        self._hand_on(node, delta, waiting)
        while waiting:
            node, delta = waiting.pop()
            given = self._run(node, (delta,), node.sources.clock)
            while (count := len(given.ts)) and node.only is not None and node.output.is_clear and count <= self._batch:
                if node.offspring:
                    break  # who reads it may run with others, and knows by itself of the time then
                node = node.only
                given = self._run(node, (given,), node.sources.clock)
            if count and node.readers:
                self._hand_on(node, given, waiting)

    def _run(self, node: Node, inputs: Sequence[Delta], now: int) -> Delta:
        operator, weight = node.operator, self._time_weight
        assert operator is not None
        begin = node.begin(self._begins) if node.begins_with is not None else None
        started = perf_counter() if weight or node.taps else 0.0
        node.began = started
        given = operator.run(inputs, now, begin)
        if weight:
            node.metrics.seconds += weight * (perf_counter() - started)
        node.observe(inputs, given)
        node.is_ready, node.output.clock = False, now if operator.through is None else operator.through
        if node.is_waiting_prone:
            node.sources.note(node)
        return given

    def _hand_on(self, node: Node, delta: Delta, waiting: list[tuple[Node, Delta]]) -> None:
        """Rows to those who may work on them at once, and to the arcs of others."""
        output, count = node.output, len(delta.ts)
        is_clear = output.is_clear and output.hands_over
        if not is_clear or count > self._batch or not (node.is_even or node.is_ahead_of_none(delta)):
            self._has_too_much |= count > self._batch
            self._put_down(node, delta)
            return
        readers: Sequence[tuple[Arc, Node]] = node.direct
        if node.offspring or node.sieve is not None:
            readers = self._sifted(node, delta, waiting)
        for arc, reader in readers:
            if reader.is_handed_rows:
                waiting.append((reader, delta))
            else:
                arc.give(delta)
                self._list(reader)
        for routing in node.routings:
            waiting.extend(routing.routed(delta))

    def _sifted(self, node: Node, delta: Delta, waiting: list[tuple[Node, Delta]]) -> Sequence[tuple[Arc, Node]]:
        """Few rows to those who want some of them; the readers that are left, which want them all."""
        count = len(delta.ts)
        if count > FEW_SIFTED:
            for family in node.offspring:
                self._close(family)
            return node.direct
        signs = delta.signs or signs_of(delta)
        if node.sieve is not None:
            waiting += [(reader, delta) for reader in node.sieve.passing(delta, signs)]
        for family in node.offspring:
            if signs[0] == count and (family.is_open or family.open()):
                family.run(delta, self._time_weight)
            else:
                self._close(family)
                waiting += [(reader, delta) for reader in family.firsts]
        return node.others

    def _leave(self, node: Node, given: Delta, now: int) -> None:
        """One that gives much, and has given a part of it: the cycle lets it go on."""
        self._has_too_much, node.aim = True, now
        for one, delta, until in [(node, given, node.got_to), *node.tapped()]:
            if one.output.is_clear:
                self._filled.append(one.output)
            one.output.put(delta, until)

    def count_skipped(self) -> None:
        """Before somebody looks at what operators have counted."""
        for node in self._nodes:
            if node.offspring or node.sieve is not None:
                count_skipped(node)

    def _put_down(self, node: Node, delta: Delta) -> None:
        """Somebody cannot take all of it now."""
        for family in node.offspring:
            self._close(family)
        if node.output.is_clear:
            self._filled.append(node.output)
        node.output.put(delta, node.sources.clock)
        for arc, reader in node.readers:
            if arc.first < reader.sources.clock:
                self._list(reader)
            else:
                reader.sources.note_at(arc.first, reader)

    def _end(self) -> None:
        for number in self._listed:  # too much came: the cycle finds by itself who has rows
            self._nodes[number].is_ready = False
        self._listed.clear()
        if self._has_too_much:
            self._keep_given()
            return
        for buffer in self._filled:
            buffer.settle()
        self._filled = [buffer for buffer in self._filled if not buffer.look()]
        self.is_stale = False

    def close_families(self) -> None:
        """Somebody else runs the operators now, each by itself."""
        for family in self._families:
            family.close()

    def _keep_given(self) -> None:
        self.close_families()
        for node in self._nodes:
            for arc in node.arcs:
                arc.keep_given()
