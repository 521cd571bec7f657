"""The graph of one level on one shard: operators, and the arcs that carry changes and clocks between them.

    port ──▶ window ──▶ filter ─┬▶ expire ──▶ group by ──▶ sink
                                └▶ join ──▶ …                       equal specs are one operator with several arcs out

An arc's clock is a promise: no change before it will come any more. An operator may work up to the least clock of its arcs; what
lies beyond waits in the arc, which is the only state of the graph itself: clocks come anew with every step.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sash.deltas import Delta
from sash.operators.base import Operator, Surroundings
from sash.operators.build import build
from sash.physical.specs import BeginSpec, GroupBySpec, PortSpec, Spec
from sash.runtime.metrics import OperatorMetrics
from sash.scalar.evaluate import Failures
from sash.schema import BEGINNING
from sash.state.arena import Arena
from sash.state.interner import Interner
from sash.state.queue import DeltaQueue


@dataclass(frozen=True)
class Feed:
    """What one step brings to a port, or makes of it: changes before `clock`."""

    delta: Delta
    clock: int


@dataclass
class Node:
    """An operator (None for a port), what has come to each of its inputs, and who reads it."""

    spec: Spec
    operator: Operator | None
    feeds: list[Feed]
    queues: list[DeltaQueue]
    metrics: OperatorMetrics
    readers: list[tuple[Node, int]] = field(default_factory=list)


class Graph:
    """Runs the specs of some sinks."""

    def __init__(
        self, sinks: Iterable[Spec], arena: Arena, interner: Interner, failures: Failures, *, is_first_shard: bool = True
    ) -> None:
        self._is_first_shard = is_first_shard  # where the one row of an aggregate without GROUP BY lives
        self._arena, self._interner, self._failures = arena, interner, failures
        self._nodes: dict[Spec, Node] = {}  # inputs always come before those who read them
        for spec in sinks:
            self._add(spec)

    def operator(self, spec: Spec) -> Operator | None:
        return self._nodes[spec].operator

    @property
    def specs(self) -> set[Spec]:
        return set(self._nodes)

    def metrics(self) -> Iterator[OperatorMetrics]:
        """What the operators have done since the graph was built, and what they keep now."""
        for node in self._nodes.values():
            if node.operator is not None:
                found, operator = node.metrics, node.operator
                size = self._arena.used_by(f"{node.spec.fingerprint}/")
                yield replace(
                    found, probes=operator.probes, delays=operator.delays, state_rows=operator.kept, state_bytes=size
                )

    def step(
        self, feeds: Mapping[PortSpec, Feed], sinks: Iterable[Spec], begins: Mapping[str, int | None],
        newcomers: Mapping[PortSpec, Delta] | None = None, known: set[Spec] | None = None,
    ) -> dict[Spec, Feed]:
        """Bring new changes to the ports, work as far as the clocks allow, and give what came out at the sinks.

        `begins` are the instants of the first rows of all streams.
        `newcomers` are changes only for those readers of a port that are not `known`: what others have seen already.
        """
        wanted, results = set(sinks), {}
        for spec, node in self._nodes.items():
            feed = feeds[spec] if isinstance(spec, PortSpec) else self._work(node, begins)
            for reader, side in node.readers:
                reader.feeds[side] = feed
                if newcomers and known is not None and isinstance(spec, PortSpec) and reader.spec not in known:
                    reader.feeds[side] = replace(feed, delta=newcomers.get(spec, feed.delta))
            if spec in wanted:
                results[spec] = feed
        return results

    def _work(self, node: Node, begins: Mapping[str, int | None]) -> Feed:
        assert node.operator is not None
        now = min(feed.clock for feed in node.feeds)
        inputs = [_due(feed.delta, queue, now) for feed, queue in zip(node.feeds, node.queues, strict=True)]
        started = time.perf_counter()
        out = node.operator.run(inputs, now, self._begin(node.spec, begins))
        node.metrics.seconds += time.perf_counter() - started
        for arc, delta in zip((*node.metrics.arcs, node.metrics.out), (*inputs, out), strict=True):
            arc.add(delta)
        return Feed(out, now)

    def _begin(self, spec: Spec, begins: Mapping[str, int | None]) -> int | None:
        """When the query of an operator begins, for those that show something before they have a row."""
        is_total = isinstance(spec, GroupBySpec) and not spec.keys and self._is_first_shard
        if not isinstance(spec, BeginSpec) and not is_total:
            return None
        assert isinstance(spec, BeginSpec | GroupBySpec)
        if not spec.streams:
            return BEGINNING  # tables were always there
        return min((begin for begin in (begins[name] for name in spec.streams) if begin is not None), default=None)

    def _add(self, spec: Spec) -> Node:
        if spec in self._nodes:
            return self._nodes[spec]
        sources = [self._add(below) for below in spec.inputs]
        scope = self._arena.scope(spec.fingerprint)
        operator = None if isinstance(spec, PortSpec) else build(spec, Surroundings(scope, self._interner, self._failures))
        queues = [
            DeltaQueue(below.layout, scope.scope(f"waiting {side}"), self._interner) for side, below in enumerate(spec.inputs)
        ]
        node = Node(spec, operator, [NO_FEED] * len(sources), queues, OperatorMetrics.of(spec))
        for side, source in enumerate(sources):
            source.readers.append((node, side))
        self._nodes[spec] = node
        return node


NO_FEED = Feed(Delta.empty(0), BEGINNING)


def _due(delta: Delta, queue: DeltaQueue, now: int) -> Delta:
    """What an input brings before `now`; the rest waits."""
    if len(queue):
        queue.append(delta)
        return queue.take(now)
    if not len(delta) or delta.ts[-1] < now:
        return delta
    due, rest = delta.split(now)
    queue.append(rest)
    return due
