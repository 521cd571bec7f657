"""The graph of one level on one shard: operators, and the arcs that carry changes and clocks between them.

    port ──▶ window ──▶ filter ─┬▶ expire ──▶ group by ──▶ sink
                                └▶ join ──▶ …                       equal specs are one operator with several arcs out

An arc's clock is a promise: no change before it will come any more. An operator may work up to the least clock of its arcs; what
lies beyond waits in the arc, which is the only state of the graph itself: clocks come anew with every step.

In which order operators run is a matter of the schedule (`schedule.py`), and changes no answer. By load, a step that is one
batch is one pass over those that have something to do (`one_pass.py`); all else is done in cycles (`cycle.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from sash.deltas import Delta
from sash.operators.spec import PortSpec, Spec
from sash.runtime.allocation import keep_freed_memory
from sash.runtime.growing_graph import GrowingGraph
from sash.runtime.metrics import OperatorMetrics
from sash.runtime.node import Begins, Node
from sash.runtime.schedule import AUTO, Schedule, batch_for
from sash.runtime.taps import taps_metrics
from sash.runtime.time_propagation import Timing
from sash.scalar.evaluate import Failures
from sash.stores.arena import Scopes
from sash.stores.interner import Interner


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


class Graph(GrowingGraph):
    """Runs the specs of some sinks."""

    def __init__(
        self, sinks: Iterable[Spec], arena: Scopes, interner: Interner, failures: Failures, *, is_first_shard: bool = True,
        schedule: Schedule = AUTO, hands_out: bool = False,
    ) -> None:
        """`hands_out`: what comes out of a step may be seen before its end."""
        keep_freed_memory()
        super().__init__(arena, interner, failures, schedule, is_first_shard=is_first_shard, hands_out=hands_out)
        self._steps = 0
        for spec in sinks:
            self._add(spec)

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
        self._one_pass.close_families()
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
            several = dict[Node, list[Delta]]()
            for node, delta in given:
                if (known := results.get(node.spec)) is None:
                    results[node.spec] = Feed(delta, clock(node))
                else:
                    several.setdefault(node, [known.delta]).append(delta)
            given.clear()
            for node, parts in several.items():
                results[node.spec] = Feed(Delta.concatenate(parts, node.spec.layout.width), clock(node))
        return results

    def unchanged(self, spec: Spec) -> Feed:
        """Of one that gave nothing in the last step. Time got there too, whether or not somebody asked for it."""
        node = self._nodes[spec]
        return Feed(node.output.nothing, self._clock(node))
