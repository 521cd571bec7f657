"""The execution cycle: run an operator, choose the next one by its rule, again and again. (Seed 004, figure 4.)

    1. the current operator takes a batch below the least of its registers, and gives what follows from it
    2. the rule of its state says who is next, by whether it has given something (yield) and could go on (more)

An operator that needs nothing but rows is handed them by the one it reads, if it is the only reader, and works at once: nothing
waits between them.

A walk ends where no rule knows a way; the next one begins at an operator that can work, in the most urgent fragment. When nobody
has rows to work off, time is brought to those who wait for it, which may set rows free. The step is over when that helps nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from sash.deltas import Delta
from sash.operators.output_chunks import MOST
from sash.runtime.node import Begins, Node
from sash.runtime.rules import Move, next_move
from sash.runtime.schedule import BY_LOAD, batch_for
from sash.runtime.table import State, StateTable
from sash.runtime.time_propagation import Arcs, Demand, Timing, promise
from sash.schema import BEGINNING, FOREVER

Watch = Callable[[Node, int, Delta], None]  # who has run, how many rows it took, what it gave


class Cycle:
    """Runs the operators of a graph. `table` may be replaced whenever no operator is running."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[tuple[int, ...]] = []
        self.table = StateTable()
        self.arcs: list[Arcs] = []
        self.prone: list[Node] = []  # those who may wait for time
        self.timing = Timing.DIRECT
        self.watch: Watch | None = None
        self.messages = 0  # about time alone, since the graph was built
        self.hand_out: Callable[[], None] | None = None  # where much came out at sinks: takes it before the end of a step
        self._out = 0  # changes of sinks that wait for it
        self._ready: list[tuple[int, int]] = []  # a heap: the most urgent first, then the nearest to the sources
        self._count = 0  # of those who can work
        self._batch = batch_for(0)
        self._begins: Begins = {}

    def step(self, begins: Begins, load: int) -> None:
        """Work off all that the ports hold, as far as their clocks allow."""
        self._begins, self._batch, self._out = begins, batch_for(load), 0
        for node in self.nodes:
            if node.operator is not None and node.has_more():
                self._wake(node)
        self._work_off()
        if self.timing is Timing.ROWS:
            return
        demand, hopes = Demand(self.nodes, self.arcs), dict[tuple[int, ...], int]()
        for node in self.prone:
            hope = hopes.get(node.ports)
            if hope is None:
                hope = hopes[node.ports] = min([self.nodes[port].output.clock for port in node.ports])
            if node.output.clock < hope and node.next_event < hope:
                self._bring_time(node, demand)

    # Conditions of the rules.

    def yields_to(self, state: State) -> Move | None:
        """In turn among those who can work; else one who has rows and waits. Rows that came out of a tap are given, too."""
        if not state.successors:
            return None
        output, waiting = self.nodes[state.number].output, None
        for tap in self.nodes[state.number].taps.values():
            if tap.number in state.successors and any(self.nodes[arc.reader].is_ready for arc in tap.output.arcs):
                return Move(tap.number, False)
        count = len(output.arcs)
        for turn in range(output.turn, output.turn + count):
            arc = output.arcs[turn % count]
            if arc.first != FOREVER:
                if self.nodes[arc.reader].is_ready:
                    output.turn = (turn + 1) % count
                    return Move(arc.reader, True)
                waiting = arc.reader
        return None if waiting is None else Move(waiting, False)

    def has_more(self, number: int) -> bool:
        return self.nodes[number].is_ready

    def lacking(self, state: State) -> int | None:
        if len(state.predecessors) < 2:
            return state.predecessors[0] if state.predecessors else None
        least = min(self.nodes[state.number].arcs, key=lambda arc: arc.clock)
        below = self.inputs[state.number][least.side]
        return below if below in state.predecessors else state.predecessors[0]

    # The cycle.

    def _work_off(self) -> None:
        """Walk from those who can work until nobody can."""
        while self._ready:
            _, number = heappop(self._ready)
            if self.nodes[number].is_ready:
                self._walk(number)
                if self.nodes[number].is_ready:
                    heappush(self._ready, (self.table[number].urgency, number))

    def _walk(self, number: int) -> None:
        runs, moves = not self._has_given(self.nodes[number]), 0
        waiting: Node | None = None  # the last one on the way that could not work though it has rows
        while True:
            node = self.nodes[number]
            if runs:
                node = self._run(node)
                number, moves, waiting = node.number, 0, None
            elif node.is_waiting_prone and min(arc.first for arc in node.arcs) != FOREVER:
                waiting = node
            if not self._count:
                return
            number, runs = next_move(self.table[number], self)
            moves += 1
            if number < 0 or moves > len(self.nodes):  # no way, or round in a circle of those who wait for each other
                if waiting is None or not self._enables(waiting):
                    return
                number, runs, moves, waiting = waiting.number, True, 0, None

    def _has_given(self, node: Node) -> bool:
        """Whether an operator on its way has given a part that somebody can work on, who may be more urgent."""
        return node.is_on_its_way and self.yields_to(self.table[node.number]) is not None

    def _run(self, node: Node) -> Node:
        """Let an operator work, and those that it hands its rows over to; the last of them."""
        batch = self.table[node.number].batch
        return self._run_to(node, node.cut(node.reach, self._batch if batch == BY_LOAD else batch, self._begins))

    def _run_to(self, node: Node, now: int) -> Node:
        if node.is_on_its_way:
            if node.taps and self._out and self.hand_out is not None:
                self._out = 0
                self.hand_out()  # what a window of a shared join has is not to wait for the others
            inputs, delta = [], node.go_on()
        else:
            inputs = node.take(now)
            delta = node.run(inputs, now, self._begins)
        self._note(node)
        count, tells_time = sum([len(taken.ts) for taken in inputs]), self.timing is not Timing.ROWS
        while tells_time and (heir := node.heir) is not None and len(delta.ts) and heir.arcs[0].first == FOREVER:
            now = node.got_to
            node.output.promise(now)
            self._tell(node, count, delta)
            node, count = heir, len(delta.ts)
            delta = node.run([delta], now, self._begins)
        node.output.put(delta, node.got_to if tells_time else _last(delta))
        self._wake_readers(node)
        self._tell(node, count, delta)
        for tap, given, until in node.tapped():
            tap.output.put(given, until if tells_time else _last(given))
            self._wake_readers(tap)
            self._tell(tap, 0, given)
            self._count_out(tap, given)
        self._count_out(node, delta)
        return node

    def _note(self, node: Node) -> None:
        """Whether it can go on, after it has run."""
        if node.is_ready and not node.has_more():
            node.is_ready = False
            self._count -= 1
        elif node.is_on_its_way and not node.is_ready:
            self._wake(node)

    def _count_out(self, node: Node, delta: Delta) -> None:
        """Let the changes of sinks go out once they are many."""
        if node.results is not None and self.hand_out is not None:
            self._out += len(delta.ts)
            if self._out >= MOST:
                self._out = 0
                self.hand_out()

    def _tell(self, node: Node, count: int, delta: Delta) -> None:
        if self.watch is not None:
            self.watch(node, count, delta)

    def _wake_readers(self, node: Node) -> None:
        for arc in node.output.arcs:
            reader = self.nodes[arc.reader]
            if not reader.is_ready and reader.has_more():
                self._wake(reader)

    def _wake(self, node: Node) -> None:
        node.is_ready = True
        self._count += 1
        heappush(self._ready, (self.table[node.number].urgency, node.number))

    # Time on demand.

    def _enables(self, node: Node) -> bool:
        """In the middle of a step: whether the sources know of time that lets one work that waits."""
        if self.timing is Timing.DIRECT:
            known: dict[int, int] = {}
            for arc, below in zip(node.arcs, self.inputs[node.number], strict=True):
                promised = promise(self.nodes, self.inputs, below, known)
                if promised > arc.clock:
                    arc.register = promised
                    self.messages += 1
        elif self.timing is Timing.PUNCTUATION:
            self._punctuate(node.number)
        if not node.is_ready and node.has_more():
            self._wake(node)
        return node.is_ready

    def _bring_time(self, node: Node, demand: Demand) -> None:
        """Nobody has rows to work off, and this one waits for an instant that the sources are past."""
        if self.timing is Timing.PUNCTUATION:
            self._punctuate(node.number)
            self._work_off()
        else:
            before = demand.messages
            demand.ask(node.number)
            self.messages += demand.messages - before
        if not node.is_ready and node.has_more():
            self._wake(node)
            self._work_off()
        while node.output.clock < node.reach and node.next_event < node.reach:
            self._run_to(node, node.cut(node.reach, self._batch, self._begins))
            self._work_off()

    def _punctuate(self, number: int) -> None:
        """Let time pass through all below an operator, one after the other; those who have rows to work off let none pass."""
        for below in self._below(number):
            node = self.nodes[below]
            if node.operator is not None and not node.is_ready and node.output.clock < node.reach:
                self.messages += 1
                self._run_to(node, node.reach)

    def _below(self, number: int) -> Sequence[int]:
        """All that an operator depends on, inputs first."""
        found, waiting = set[int](), list(self.inputs[number])
        while waiting:
            below = waiting.pop()
            if below not in found:
                found.add(below)
                waiting.extend(self.inputs[below])
        return sorted(found)


def _last(delta: Delta) -> int:
    return int(delta.ts[-1]) if len(delta) else BEGINNING
