"""The graph of one level on one shard: operators, and the arcs that carry changes and clocks between them.

    port ──▶ window ──▶ filter ─┬▶ expire ──▶ group by ──▶ sink
                                └▶ join ──▶ …                       equal specs are one operator with several arcs out

An arc's clock is a promise: no change before it will come any more. An operator may work up to the least clock of its arcs; what
lies beyond waits in the arc, which is the only state of the graph itself: clocks come anew with every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sash.deltas import Delta
from sash.operators.base import Operator, Surroundings
from sash.operators.build import build
from sash.physical.specs import BeginSpec, GroupBySpec, PortSpec, Spec
from sash.scalar.evaluate import Failures
from sash.schema import BEGINNING
from sash.state.arena import Scopes
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
    readers: list[tuple[Node, int]] = field(default_factory=list)


class Graph:
    """Runs the specs of some sinks."""

    def __init__(
        self, sinks: Iterable[Spec], arena: Scopes, interner: Interner, failures: Failures, *, is_first_shard: bool = True
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

    def add(self, spec: Spec) -> None:
        """Run one more spec from now on, over the state that it finds."""
        self._add(spec)

    def keep(self, sinks: Iterable[Spec]) -> set[Spec]:
        """Run only these sinks from now on; the specs that are gone."""
        needed: set[Spec] = set()
        for spec in sinks:
            _collect(spec, needed)
        gone = set(self._nodes) - needed
        for spec in gone:
            del self._nodes[spec]
            self._interner.release(spec.fingerprint)
        if gone:
            for node in self._nodes.values():
                node.readers = [(reader, side) for reader, side in node.readers if reader.spec in needed]
        return gone

    def step(
        self, feeds: Mapping[PortSpec, Feed], sinks: Iterable[Spec], begins: Mapping[str, int | None]
    ) -> dict[Spec, Feed]:
        """Bring new changes to the ports, work as far as the clocks allow, and give what came out at the sinks.

        `begins` are the instants of the first rows of all streams.
        """
        wanted, results = set(sinks), {}
        for spec, node in self._nodes.items():
            feed = feeds[spec] if isinstance(spec, PortSpec) else self._work(node, begins)
            for reader, side in node.readers:
                reader.feeds[side] = feed
            if spec in wanted:
                results[spec] = feed
        return results

    def _work(self, node: Node, begins: Mapping[str, int | None]) -> Feed:
        assert node.operator is not None
        now = min(feed.clock for feed in node.feeds)
        inputs = [_due(feed.delta, queue, now) for feed, queue in zip(node.feeds, node.queues, strict=True)]
        return Feed(node.operator.run(inputs, now, self._begin(node.spec, begins)), now)

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
        with self._interner.owned(spec.fingerprint):
            operator = None if isinstance(spec, PortSpec) else build(spec, Surroundings(scope, self._interner, self._failures))
            queues = [
                DeltaQueue(below.layout, scope.scope(f"waiting {side}"), self._interner)
                for side, below in enumerate(spec.inputs)
            ]
        node = Node(spec, operator, [NO_FEED] * len(sources), queues)
        for side, source in enumerate(sources):
            source.readers.append((node, side))
        self._nodes[spec] = node
        return node


NO_FEED = Feed(Delta.empty(0), BEGINNING)


def _collect(spec: Spec, found: set[Spec]) -> None:
    if spec not in found:
        found.add(spec)
        for below in spec.inputs:
            _collect(below, found)


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
