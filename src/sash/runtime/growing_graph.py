"""Operators come and go in a graph that runs, and so do the outputs of those that have several."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from sash.deltas import Delta, Int64s
from sash.operators.many_outputs import ManyOutputs, Past
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.spec import PortSpec, Spec, below
from sash.runtime.merged_arcs import buffer_of
from sash.runtime.metrics import OperatorMetrics
from sash.runtime.node import Node
from sash.runtime.one_pass import OnePass
from sash.runtime.premature import Early
from sash.runtime.schedule import Schedule
from sash.runtime.scheduled_nodes import ScheduledNodes
from sash.scalar.evaluate import Failures
from sash.stores.arena import Scopes
from sash.stores.interner import Interner
from sash.tree import from_below


class GrowingGraph(ScheduledNodes):
    """A graph to which specs are added, and of which those are kept that somebody needs."""

    def __init__(
        self, arena: Scopes, interner: Interner, failures: Failures, schedule: Schedule, *, is_first_shard: bool, hands_out: bool
    ) -> None:
        super().__init__(arena, interner, failures, schedule, is_first_shard=is_first_shard, hands_out=hands_out)
        self._one_pass = OnePass()
        self._collected: tuple[Spec, ...] = ()  # the sinks of the last step
        self._given: list[tuple[Node, Delta]] = []  # what came out at them

    def add(self, spec: Spec) -> None:
        """Run one more spec from now on, over the state that it finds."""
        self._add(spec)

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
            node = self._nodes[spec]
            self._one_pass.is_stale |= node.family is not None and node.family.hides(node)
            node.results = self._given

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
