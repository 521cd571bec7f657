"""The operators of a graph, and in which order they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from typing import Any

from sash.operators.many_outputs import ManyOutputs
from sash.operators.operator import Operator
from sash.operators.shared_join.schedules import AUTO as JOIN_AUTO
from sash.operators.shared_join.schedules import ONE_PASS
from sash.operators.spec import Spec, below
from sash.runtime.breaks import break_nodes, fragments
from sash.runtime.cycle import Cycle, Watch
from sash.runtime.node import Node
from sash.runtime.schedule import BY_LOAD, Schedule
from sash.runtime.table import StateTable
from sash.runtime.time_propagation import Timing, arcs_of_time, promise
from sash.scalar.evaluate import Failures
from sash.stores.arena import Scopes
from sash.stores.interner import Interner


class ScheduledNodes:
    """Operators, the arcs between them, and the table by which one is chosen after the other."""

    def __init__(
        self, arena: Scopes, interner: Interner, failures: Failures, schedule: Schedule, *, is_first_shard: bool, hands_out: bool
    ) -> None:
        self._hands_out = hands_out
        self.awaited: Callable[[], Iterable[Spec]] = tuple  # sinks that somebody waits for in the middle of a step
        self._is_first_shard = is_first_shard  # where the one row of an aggregate without GROUP BY lives
        self._arena, self._interner, self._failures = arena, interner, failures
        self._nodes: dict[Spec, Node] = {}  # inputs always come before those who read them
        self._with_taps: dict[Spec, Node] = {}  # those of them that have several outputs
        self._cycle = Cycle()
        self._schedules: dict[Spec, Schedule] = {}
        self._default = schedule
        self._breaks: frozenset[Spec] = frozenset()
        self._steepness: dict[int, float] = {}
        self._is_stale = True  # operators came or went, and nobody has asked for the table since

    def operator(self, spec: Spec) -> Operator | None:
        return self._nodes[spec].operator

    def _many(self, spec: Spec) -> ManyOutputs[Any]:
        operator = self._nodes[spec].operator
        assert isinstance(operator, ManyOutputs)
        return operator

    @property
    def specs(self) -> set[Spec]:
        return set(self._nodes)

    @property
    def running(self) -> Set[Spec]:
        """The same, as it is whenever somebody looks."""
        return self._nodes.keys()

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._cycle.nodes)

    def _clock(self, node: Node) -> int:
        if len(node.ports) == 1:
            return self._cycle.nodes[node.ports[0]].output.clock
        return min([self._cycle.nodes[port].output.clock for port in node.ports])

    def use(self, schedule: Schedule, part: Iterable[Spec] | None = None) -> None:
        """Go on by another schedule, everywhere or for some operators. Also in the middle of a step."""
        if part is None:
            if self._default.has_breaks:
                self._breaks, self._steepness = frozenset(), {}
            self._default, self._schedules = schedule, {}
        else:
            self._schedules |= dict.fromkeys(part, schedule)
        for spec in self._with_taps:
            self._schedule_taps(spec)
        self._make_table()

    def _schedule_taps(self, spec: Spec) -> None:
        """Where all comes out at the end of a step, no output need be served before another, unless somebody wants it."""
        join = self._schedules.get(spec, self._default).join
        schedule = ONE_PASS if join == JOIN_AUTO and not self._hands_out else join
        self._many(spec).schedule_taps(schedule, self._queries_above, self._awaited_parts)

    def _awaited_parts(self) -> Set[Spec]:
        return set[Spec]().union(*map(below, self.awaited()))

    def _queries_above(self, spec: Spec) -> int:
        """How many sinks an operator has a part in."""
        found, waiting = set[Node](), [self._nodes[spec]]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += (self._cycle.nodes[arc.reader] for arc in node.output.arcs)
        return sum(node.results is not None for node in found)

    def is_through(self, spec: Spec) -> bool:
        """In the middle of a step: whether a sink will not change in it any more."""
        node, cycle = self._nodes[spec], self._cycle
        return promise(cycle.nodes, cycle.inputs, node.number, {}) >= self._clock(node)

    @contextmanager
    def as_if_between_steps(self, specs: Iterable[Spec]) -> Iterator[None]:
        """For those who look at the state of some sinks that are through with the step, though it may be in the middle."""
        for node in self._cycle.nodes:
            if node.output.is_filled:
                node.output.settle()
        needed = set[Spec]().union(*map(below, specs))
        paused = [node for node in self._with_taps.values() if node.is_on_its_way and node.spec in needed]
        for node in paused:
            self._many(node.spec).pause_at(node.aim - 1)
        try:
            yield
        finally:
            for node in paused:
                self._many(node.spec).pause_at(None)

    @property
    def table(self) -> StateTable:
        self._refresh()
        return self._cycle.table

    def _refresh(self) -> None:
        if self._is_stale:
            self._make_table()

    def _make_table(self) -> None:
        if self._is_stale:
            self._cycle.arcs = arcs_of_time(self._cycle.nodes, self._cycle.inputs)
            self._is_stale = False
        nodes = self._cycle.nodes
        names = [type(node.spec).__name__.removesuffix("Spec") for node in nodes]
        table = StateTable.of(names, self._cycle.inputs, (self._nodes[spec].number for spec in self._breaks))
        chosen = {node.number: self._schedules.get(node.spec, self._default) for node in nodes}
        self._cycle.table = table.scheduled(chosen).ordered(self._steepness)
        for node in nodes:
            node.heir = self._heir(node)

    def _heir(self, node: Node) -> Node | None:
        """The one that takes the rows of an operator out of its hands, where both work by load: the only reader."""
        if node.operator is None or len(node.output.arcs) != 1:
            return None
        reader, table = self._cycle.nodes[node.output.arcs[0].reader], self._cycle.table
        is_near = reader.number in table[node.number].successors
        is_free = all(table[one.number].batch == BY_LOAD for one in (node, reader))
        return reader if is_near and is_free and reader.needs_only_rows else None

    def break_at(self, specs: Iterable[Spec]) -> None:
        """Cut the graph behind these operators, and nowhere else: what lies on the two sides is scheduled apart."""
        self._breaks, self._steepness = frozenset(specs), {}
        self._make_table()

    def spare_memory(self) -> None:
        """Break the graph where rows have become few for the work, by what has been seen so far."""
        nodes = self._cycle.nodes
        found = fragments(nodes, self._cycle.inputs)
        self._breaks = frozenset(nodes[number].spec for number in break_nodes(found, nodes))
        self._steepness = {number: one.steepness for one in found for number in one.operators}
        self._make_table()

    @property
    def breaks(self) -> frozenset[Spec]:
        return self._breaks

    def move_time(self, timing: Timing) -> None:
        """How time gets to those who wait for it."""
        self._cycle.timing = timing

    def watch(self, watch: Watch | None) -> None:
        """Tell somebody whenever an operator has run."""
        self._cycle.watch = watch

    def waits_before(self, now: int) -> bool:
        """Whether somebody has something to do before an instant, if time only came there."""
        return any(node.next_event < now for node in self._cycle.prone)
