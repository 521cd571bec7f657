"""Back-fill: a new view begins with what is in memory.

    remembered rows of the ports ─▶ [ operators that run already, made again aside ] ─▶ new operators, at their place for good

A tap of an operator that has all that it wants begins with that: whatever is remembered need not be looked at. Else
the remembered rows are played through all operators of the view in one step. Those that are new keep what they then hold. Of
those that run already a second set works aside and is thrown away: it gives the new ones exactly what the running ones hold
(`planner/lookback.py` says when), and from the next step on the running ones serve both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from sash.deltas import Delta, forever, once
from sash.operators.many_outputs import Past
from sash.operators.operator import OperatorContext
from sash.operators.spec import PortSpec, Spec, below, parts
from sash.operators.windows.operator import SKIP
from sash.planner.lookback import Lookbacks
from sash.runtime.graph import Feed, Graph
from sash.runtime.intake import Intake
from sash.scalar.failures import Failures
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Arena, Scope
from sash.stores.interner import Interner


@dataclass(frozen=True)
class _Layers:
    """Known operators live aside, new ones in the arena that stays."""

    stays: Arena
    aside: Arena
    known: frozenset[str]  # fingerprints

    def scope(self, name: str) -> Scope:
        return (self.aside if name in self.known else self.stays).scope(name)

    def used_by_scope(self) -> Counter[str]:
        return self.stays.used_by_scope()


Waiting = tuple[Spec, int, Delta]  # what a new operator has still to take from one of its inputs


@dataclass(frozen=True)
class Filled:
    """What new specs would have given so far, what waits for them, and what running operators need for taps that are new."""

    results: dict[Spec, Feed]
    waiting: list[Waiting]
    pasts: dict[Spec, Past]


def back_fill(
    specs: Sequence[Spec], known: Set[Spec], arena: Arena, interner: Interner, feeds: Mapping[PortSpec, Feed],
    begins: Mapping[str, int | None], *, is_first_shard: bool,
) -> Filled:
    """Bring the state of new specs to where the running ones are."""
    aside = Arena.anonymous()
    layers = _Layers(arena, aside, frozenset(part.fingerprint for spec in specs for part in below(spec) if part in known))
    try:
        with interner.borrowed():
            graph = Graph(specs, layers, interner, Failures(), is_first_shard=is_first_shard)
            results = graph.step(feeds, specs, begins)
            return Filled(results, list(_waiting(graph, known, arena)), graph.pasts(known))
    finally:
        aside.close()


@dataclass(frozen=True)
class FromHere:
    """A view whose only operator that keeps something is a tap of a running one, which has all that the tap wants."""

    spec: Spec
    clock: int  # how far it has got
    tap: Spec
    above: tuple[Spec, ...]  # what lies between, from below

    @staticmethod
    def of(spec: Spec, clock: int, known: Set[Spec], graph: Graph) -> FromHere | None:
        above, part = list[Spec](), spec
        while part.is_transparent and part.shared is None and len(part.inputs) == 1 and part not in known:
            above.append(part)
            part = part.inputs[0]
        if part in known or part.shared is None or part.shared not in known or not graph.has_all_of(part):
            return None
        return FromHere(spec, clock, part, tuple(reversed(above)))

    def begin(self, graph: Graph, interner: Interner) -> Delta:
        """What it begins with, now that its operators are there: what lies above is made again aside, as it keeps nothing."""
        shown = graph.begin_at(self.tap, self.clock - 1)
        count, aside = len(shown), Arena.anonymous()
        found = Delta(shown, np.full(count, self.clock - 1), forever(count), once(count))
        try:
            with interner.borrowed():
                for part in self.above:
                    operator = part.build(OperatorContext(aside.scope(part.fingerprint), interner, Failures()))
                    found = operator.run((found,), self.clock, None) if len(found.ts) else Delta.empty(part.layout.width)
            return found.copy()
        finally:
            aside.close()


def _waiting(graph: Graph, known: Set[Spec], arena: Arena) -> Iterator[Waiting]:
    """What lies before new operators, in buffers that are about to be thrown away."""
    for node in graph.nodes:
        for side, source in enumerate(node.spec.inputs):
            if node.spec not in known and source in known:
                rest = node.arcs[side].take(FOREVER)
                arena.drop(f"{node.spec.fingerprint}/input {side}/")
                if len(rest):
                    yield node.spec, side, rest.copy()


def align(specs: Sequence[Spec], known: Set[Spec], arena: Arena, intakes: Mapping[PortSpec, Intake]) -> None:
    """A window that jumps by rows starts with a whole slide."""
    for part in {part for spec in specs for part in parts(spec) if part not in known}:
        port = part.inputs[0] if part.jump > 1 else None
        if isinstance(port, PortSpec) and port.base in intakes:
            arena.scope(part.fingerprint).array(SKIP, 1)[0] = -intakes[port.base].forgotten % part.jump


def complete_since(needs: Lookbacks, intakes: Mapping[PortSpec, Intake], now: int) -> int | None:
    """From which instant on a view that is created now is right for all rows that ever came; None: never."""
    instants = [BEGINNING]
    for port, reach in needs.items():
        if port not in intakes:
            continue
        intake = intakes[port]
        if intake.since == BEGINNING and not reach.is_fresh:
            continue
        if reach.time == FOREVER or intake.rows < reach.rows:
            return None
        is_new = reach.is_fresh or intake.since == FOREVER
        instants.append((now if is_new else intake.since) + reach.time)
    return max(instants)
