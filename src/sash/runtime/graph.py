"""The graph of one level on one shard: operators, and the arcs that carry changes and clocks between them.

    port ──▶ window ──▶ filter ─┬▶ expire ──▶ group by ──▶ sink
                                └▶ join ──▶ …                       equal specs are one operator with several arcs out

An arc's clock is a promise: no change before it will come any more. An operator may work up to the least clock of its arcs; what
lies beyond waits in the arc, which is the only state of the graph itself: clocks come anew with every step.

In which order operators run is a matter of the schedule (`schedule.py`), and changes no answer. By load, a step that is one
batch is one pass over those that have something to do (`one_pass.py`); all else is done in cycles (`cycle.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

from sash.deltas import Delta, Int64s
from sash.operators.many_outputs import ManyOutputs, Past
from sash.operators.operator import Operator, OperatorContext, Timeless
from sash.operators.shared_join.schedules import AUTO as JOIN_AUTO
from sash.operators.shared_join.schedules import ONE_PASS
from sash.operators.spec import PortSpec, Spec, below
from sash.runtime.allocation import keep_freed_memory
from sash.runtime.breaks import break_nodes, fragments
from sash.runtime.cycle import Cycle, Watch
from sash.runtime.merged_arcs import buffer_of
from sash.runtime.metrics import OperatorMetrics
from sash.runtime.node import Begins, Node
from sash.runtime.one_pass import OnePass
from sash.runtime.premature import Early
from sash.runtime.schedule import AUTO, BY_LOAD, Schedule, batch_for
from sash.runtime.table import StateTable
from sash.runtime.taps import taps_metrics
from sash.runtime.time_propagation import Timing, arcs_of_time, promise
from sash.scalar.evaluate import Failures
from sash.stores.arena import Scopes
from sash.stores.interner import Interner
from sash.tree import from_below


class Feed(NamedTuple):
    """What one step brings to a port, or makes of it: changes before `clock`."""

    delta: Delta
    clock: int


class Results(dict[Spec, Feed]):
    """What came out at the sinks that gave something. Of others it is made when somebody asks, before the next step."""

    def __init__(self, graph: Graph, feeds: Mapping[PortSpec, Feed]) -> None:
        self._graph, self._feeds = graph, feeds

    def __missing__(self, spec: Spec) -> Feed:
        """A port gives what it was brought."""
        feed = self._feeds.get(spec) if isinstance(spec, PortSpec) else None
        self[spec] = found = self._graph.unchanged(spec) if feed is None else feed
        return found


def _is_due(feed: Feed) -> bool:
    """Whether all that is brought can be worked off: rows of a table may be there before its time has come to them."""
    ts = feed.delta.ts
    return not len(ts) or bool(ts.item(-1) < feed.clock)


class Graph:
    """Runs the specs of some sinks."""

    def __init__(
        self, sinks: Iterable[Spec], arena: Scopes, interner: Interner, failures: Failures, *, is_first_shard: bool = True,
        schedule: Schedule = AUTO, hands_out: bool = False,
    ) -> None:
        """`hands_out`: what comes out of a step may be seen before its end."""
        keep_freed_memory()
        self._hands_out = hands_out
        self.awaited: Callable[[], Iterable[Spec]] = tuple  # sinks that somebody waits for in the middle of a step
        self._is_first_shard = is_first_shard  # where the one row of an aggregate without GROUP BY lives
        self._arena, self._interner, self._failures = arena, interner, failures
        self._nodes: dict[Spec, Node] = {}  # inputs always come before those who read them
        self._with_taps: dict[Spec, Node] = {}  # those of them that have several outputs
        self._cycle, self._one_pass = Cycle(), OnePass()
        self._collected: tuple[Spec, ...] = ()  # the sinks of the last step
        self._given: list[tuple[Node, Delta]] = []  # what came out at them
        self._schedules: dict[Spec, Schedule] = {}
        self._default = schedule
        self._breaks: frozenset[Spec] = frozenset()
        self._steepness: dict[int, float] = {}
        self._steps = 0
        self._is_stale = True  # operators came or went, and nobody has asked for the table since
        for spec in sinks:
            self._add(spec)

    def add(self, spec: Spec) -> None:
        """Run one more spec from now on, over the state that it finds."""
        self._add(spec)

    def fill(self, spec: Spec, side: int, delta: Delta) -> None:
        """Changes that only this operator has not seen, before all that is to come."""
        node = self._nodes[spec]
        node.arcs[side].fill(delta)
        self._one_pass.is_stale |= self._one_pass.knows(node)

    def keep(self, sinks: Iterable[Spec]) -> set[Spec]:
        """Run only these sinks from now on; the specs that are gone."""
        needed = set[Spec]().union(*map(below, sinks))
        gone = set(self._nodes) - needed
        if gone:
            for spec in gone:
                self._interner.release(spec.fingerprint)
                self._leave(spec, needed)
            self._nodes = {spec: node for spec, node in self._nodes.items() if spec in needed}
            self._with_taps = {spec: node for spec, node in self._with_taps.items() if spec in needed}
            self._number_anew()
        return gone

    def _leave(self, spec: Spec, needed: Container[Spec]) -> None:
        """Close a tap of an operator that goes on, or let go of one with all of its taps."""
        operator = self._nodes[spec].operator
        if isinstance(operator, ManyOutputs):
            operator.release()
        elif spec.shared is not None and spec.shared in needed:
            self._many(spec.shared).close(spec)
            del self._nodes[spec.shared].taps[spec]

    def _many(self, spec: Spec) -> ManyOutputs[Any]:
        operator = self._nodes[spec].operator
        assert isinstance(operator, ManyOutputs)
        return operator

    def begin_taps(self) -> None:
        """Before taps are added: those that are there go on from what they find."""
        for spec in self._with_taps:
            self._many(spec).begin()

    def pasts(self, known: Container[Spec]) -> dict[Spec, Past]:
        """What operators with several outputs remember, those among `known` that have taps which are not."""
        shared = ((spec, node) for spec, node in self._with_taps.items() if spec in known)
        found = (spec for spec, node in shared if any(tap not in known for tap in node.taps))
        return {spec: self._many(spec).past().copy() for spec in found}

    def has_all_of(self, tap: Spec) -> bool:
        """Whether a tap that is not there could begin with what the operator has that it is an output of."""
        assert tap.shared is not None
        return self._many(tap.shared).has_all_of(tap)

    def begin_at(self, tap: Spec, reached: int) -> Int64s:
        """Let a new tap begin with that, where nothing happens up to an instant; the rows that it shows."""
        assert tap.shared is not None
        shared = self._many(tap.shared)
        shared.begin_at(reached)
        return shared.shown_by(tap)

    def recall(self, pasts: Mapping[Spec, Past]) -> None:
        """What taps need that were added since the last step."""
        for spec, past in pasts.items():
            self._many(spec).recall(past)

    def _number_anew(self) -> None:
        """Close the gaps that operators left."""
        cycle, kept = self._cycle, list(self._nodes.values())
        numbers = {node.number: place for place, node in enumerate(kept)}
        cycle.inputs = [tuple(numbers[source] for source in cycle.inputs[node.number]) for node in kept]
        for node in kept:
            node.output.keep_readers(numbers)
            node.ports = tuple(numbers[port] for port in node.ports)
        for node in kept:
            node.number = numbers[node.number]
            for arc in node.arcs:
                arc.reader = node.number
        cycle.nodes, cycle.prone = kept, [node for node in kept if node.is_waiting_prone]
        self._breaks &= self._nodes.keys()
        self._steepness = {}
        self._is_stale = self._one_pass.is_stale = True
        self._collect(())

    def operator(self, spec: Spec) -> Operator | None:
        return self._nodes[spec].operator

    @property
    def specs(self) -> set[Spec]:
        return set(self._nodes)

    @property
    def running(self) -> Set[Spec]:
        """The same, as it is whenever somebody looks."""
        return self._nodes.keys()

    def metrics(self) -> Iterator[OperatorMetrics]:
        """What the operators have done since the graph was built, and what they keep now."""
        self._one_pass.count_skipped()
        used = self._arena.used_by_scope()
        for node in self._nodes.values():
            if node.taps:
                yield from taps_metrics(node, used[node.spec.fingerprint])
            elif node.operator is not None and node.spec.shared is None:
                found, operator = node.metrics, node.operator
                size = used[node.spec.fingerprint]
                yield replace(
                    found, probes=operator.probes, delays=operator.delays, state_rows=operator.kept, state_bytes=size
                )

    def early(self) -> dict[str, float]:
        """The share of rows that left every negation early, by its fingerprint."""
        shares = {node.spec.fingerprint: node.early.share for node in self._nodes.values() if node.early is not None}
        return {name: share for name, share in shares.items() if share is not None}

    def early_counts(self) -> dict[str, tuple[int, int]]:
        """Of every negation: rows that left early, and rows that left."""
        return {node.spec.fingerprint: node.early.counts for node in self._nodes.values() if node.early is not None}

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._cycle.nodes)

    @property
    def table(self) -> StateTable:
        self._refresh()
        return self._cycle.table

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

    def _queries_above(self, spec: Spec) -> int:
        """How many sinks an operator has a part in."""
        found, waiting = set[Node](), [self._nodes[spec]]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += (self._cycle.nodes[arc.reader] for arc in node.output.arcs)
        return sum(node.results is not None for node in found)

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

    @property
    def messages(self) -> int:
        """How often an operator was told of time alone."""
        return self._cycle.messages + self._one_pass.messages

    @property
    def buffered(self) -> int:
        """Rows that lie between operators now."""
        return sum(node.output.rows for node in self._cycle.nodes)

    def step(
        self, feeds: Mapping[PortSpec, Feed], sinks: Iterable[Spec], begins: Begins,
        hand_out: Callable[[Results], None] | None = None,
    ) -> Results:
        """Bring new changes to the ports, work as far as the clocks allow, and give what came out at the sinks.

        Ports that are not fed have nothing new, and time has not moved there. `begins` are the instants of the first rows of all
        streams. Where much comes out, `hand_out` is given what came so far, each with how far it is; so it need not be kept.
        """
        self._cycle.hand_out = None if hand_out is None else lambda: hand_out(self._results(feeds, attrgetter("output.clock")))
        if sinks is not self._collected:
            self._collect(tuple(sinks))
        fed, load, are_due = [], 0, True
        for spec, feed in feeds.items():
            if (port := self._nodes.get(spec)) is not None:
                fed.append((port, feed))
                load += len(feed.delta.ts)
                are_due = are_due and _is_due(feed)
        batch = batch_for(load)
        if are_due and self._is_one_batch(load, batch):
            self._run_in_one_pass(fed, begins, load, batch)
        else:
            for port, feed in fed:
                port.output.put(feed.delta, feed.clock)
            self._run_in_cycles(begins, load)
        self._cycle.hand_out = None
        results = self._results(feeds, self._clock)
        for port, feed in fed:
            if port.results is not None and len(feed.delta.ts):
                results[port.spec] = feed
        return results

    def _collect(self, sinks: tuple[Spec, ...]) -> None:
        """Let these, and no others, keep what they give in a step."""
        if sinks is self._collected or sinks == self._collected:
            return
        known = len(self._collected)
        if sinks[:known] != self._collected:
            known = 0
            for spec in self._collected:
                if spec in self._nodes:
                    self._nodes[spec].results = None
        self._collected = sinks
        for spec in sinks[known:]:
            self._nodes[spec].results = self._given

    def _is_one_batch(self, load: int, batch: int) -> bool:
        """Whether so many rows are to be worked off at once, by everybody, and nobody looks who runs when."""
        is_free = self._default.is_by_load and not self._schedules and not self._breaks
        cycle = self._cycle
        return is_free and cycle.watch is None and cycle.timing is Timing.DIRECT and load <= batch

    def _run_in_one_pass(self, fed: Sequence[tuple[Node, Feed]], begins: Begins, load: int, batch: int) -> None:
        self._one_pass.prepare(self._cycle.nodes, self._cycle.inputs)
        for port, feed in fed:
            port.output.promise(feed.clock)
        if not self._one_pass.step([(port, feed.delta) for port, feed in fed], begins, load, batch):
            self._run_in_cycles(begins, load)  # what is left is more than it seemed

    def _run_in_cycles(self, begins: Begins, load: int) -> None:
        self._refresh()
        self._steps += 1
        if self._default.has_breaks and not self._steps & (self._steps - 1):  # ever more rarely: it has learnt more
            self.spare_memory()
        self._cycle.step(begins, load)
        for node in self._cycle.nodes:
            if node.output.is_filled:
                node.output.settle()
        self._one_pass.is_stale = True

    def _results(self, feeds: Mapping[PortSpec, Feed], clock: Callable[[Node], int]) -> Results:
        """What sinks gave since somebody asked, each with its clock: in the middle of a step they are at different instants."""
        results, given = Results(self, feeds), self._given
        if len(given) == 1:
            node, delta = given.pop()
            results[node.spec] = Feed(delta, clock(node))
        elif given:
            results.update((node.spec, Feed(delta, clock(node))) for node, delta in self._take_given())
        return results

    def _take_given(self) -> Iterator[tuple[Node, Delta]]:
        found = dict[Node, list[Delta]]()
        for node, delta in self._given:
            found.setdefault(node, []).append(delta)
        self._given.clear()
        for node, parts in found.items():
            yield node, parts[0] if len(parts) == 1 else Delta.concatenate(parts, node.spec.layout.width)

    def unchanged(self, spec: Spec) -> Feed:
        """Of one that gave nothing in the last step. Time got there too, whether or not somebody asked for it."""
        node = self._nodes[spec]
        return Feed(node.output.nothing, self._clock(node))

    def _clock(self, node: Node) -> int:
        if len(node.ports) == 1:
            return self._cycle.nodes[node.ports[0]].output.clock
        return min([self._cycle.nodes[port].output.clock for port in node.ports])

    def _add(self, spec: Spec) -> None:
        for part in from_below(spec, lambda one: one.inputs, self._nodes.__contains__):
            self._add_one(part)

    def _add_one(self, spec: Spec) -> None:
        sources = [self._nodes[input_] for input_ in spec.inputs]
        number, owner, scope = len(self._nodes), spec.fingerprint, self._arena.scope(spec.fingerprint)
        with self._interner.owned(owner):
            operator = None if isinstance(spec, PortSpec) else spec.build(OperatorContext(scope, self._interner, self._failures))
        node = Node(
            number, spec, operator,
            arcs=[source.output.arc(number, side, owner, scope) for side, source in enumerate(sources)],
            metrics=OperatorMetrics.of(spec),
            output=buffer_of(spec)(spec.layout, owner, scope.scope("output"), self._interner),
            ports=tuple(sorted({port for source in sources for port in source.ports})) or (number,),
            begins_with=spec.begins_with(self._is_first_shard),
            is_waiting_prone=operator is not None and (len(sources) > 1 or not isinstance(operator, Timeless)),
            early=Early() if spec.is_negation else None,
        )
        self._nodes[spec] = node
        if spec.shared is not None:
            self._open(spec, node)
        self._is_stale = True
        self._cycle.nodes.append(node)
        self._cycle.inputs.append(tuple(source.number for source in sources))
        if node.is_waiting_prone:
            self._cycle.prone.append(node)

    def _open(self, spec: Spec, tap: Node) -> None:
        assert spec.shared is not None
        self._many(spec.shared).open(spec)
        self._nodes[spec.shared].taps[spec] = tap
        if spec.shared not in self._with_taps:
            self._with_taps[spec.shared] = self._nodes[spec.shared]
            self._schedule_taps(spec.shared)

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
