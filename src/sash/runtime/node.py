"""A node of a graph: an operator, the arcs it reads, the buffer it writes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sash.deltas import Delta
from sash.kernels.counting import count_signs
from sash.operators.delays import Delays
from sash.operators.filter.routing import Routing, Sieve
from sash.operators.many_outputs import ManyOutputs
from sash.operators.operator import Operator
from sash.operators.spec import Spec
from sash.runtime.arcs import Arc, Buffer, least_clock
from sash.runtime.metrics import OperatorMetrics, Traffic
from sash.runtime.premature import Early
from sash.runtime.sources import Sources
from sash.schema import BEGINNING, FOREVER, SECOND

if TYPE_CHECKING:
    from sash.runtime.families import Family

Begins = Mapping[str, int | None]  # the instants of the first rows of all streams, and of TIME


def present(time: tuple[str, ...]) -> str:
    """Among those, while a new view is filled: the instant before which what shows a time shows none."""
    return f"the present of {', '.join(time)}"


@dataclass(eq=False, slots=True)
class Node:
    """`operator` is None for a port."""

    number: int
    spec: Spec
    operator: Operator | None
    arcs: list[Arc]
    output: Buffer
    metrics: OperatorMetrics
    ports: tuple[int, ...]  # those that rows of it come from
    begins_with: tuple[str, ...] | None  # of one that shows something before it has a row: the streams with whose first row
    is_waiting_prone: bool  # whether time may hold it back, or make it give something
    is_ready: bool = False  # stands among those that can work
    aim: int = BEGINNING  # the instant up to which it was last told to work
    results: list[tuple[Node, Delta]] | None = None  # where a sink puts what it gives in a step
    early: Early | None = None  # of a negation
    taps: dict[Spec, Node] = field(default_factory=dict)  # of one with several outputs: where each comes out
    began: float = 0.0  # of one with taps: when it last took rows
    heir: Node | None = None  # the only reader, where that one may work on what it is given at once
    # For a step in one pass:
    sources: Sources = field(default_factory=lambda: Sources(()))
    noted: int = FOREVER  # the instant for which its sources have noted it
    readers: list[tuple[Arc, Node]] = field(default_factory=list)
    direct: list[tuple[Arc, Node]] = field(default_factory=list)  # readers that are given all rows
    routings: list[Routing[Node]] = field(default_factory=list)  # to all others: by a value of the row
    is_even: bool = False  # time is where it is for all who read it, too
    only: Node | None = None  # the one who reads it, if that one can always be handed all
    sieve: Sieve[Node] | None = None  # the filters among those who read it, if they are many
    others: list[tuple[Arc, Node]] = field(default_factory=list)  # the readers beside them
    offspring: list[Family] = field(default_factory=list)  # of those who read it: those that are run together
    family: Family | None = None  # that it is in
    looked_at: int = 0  # how many readers there were when all of them were last looked at
    is_handed_rows: bool = field(init=False)

    def __post_init__(self) -> None:
        # One that shows time may take less than there is; of one with taps, what came out of them is still to be handed on.
        self.is_handed_rows = len(self.arcs) == 1 and not self.spec.shows_time and not isinstance(self.operator, ManyOutputs)

    @property
    def needs_only_rows(self) -> bool:
        """No time, no second input, no beginning."""
        return not self.is_waiting_prone and self.begins_with is None

    @property
    def reach(self) -> int:
        """How far it may work: the least of its registers."""
        return least_clock(self.arcs)

    def has_more(self) -> bool:
        """Whether it has a row below the least of its registers (seed 004, figure 8).

        All rows of an instant are worked off together, so an instant is open until every register is past it. One that has not
        given all that its last rows make has more in any case.
        """
        if self.operator is not None and self.operator.through is not None:
            return True
        first = clock = FOREVER
        for arc in self.arcs:
            if arc.first < first:
                first = arc.first
            if arc.buffer.clock < clock and arc.register < clock:
                clock = arc.clock
        return first < clock

    @property
    def next_event(self) -> int:
        """The instant of the next change that it has, or will make by itself."""
        operator = self.operator
        assert operator is not None
        event = operator.due() if operator.through is None else operator.through
        for arc in self.arcs:
            if arc.first < event:
                event = arc.first
        return event

    @property
    def due(self) -> int:
        """The instant of the next change that it makes by itself, or still has to give."""
        assert self.operator is not None
        through = self.operator.through
        return self.operator.due() if through is None else through

    def is_ahead_of_none(self, delta: Delta) -> bool:
        """Whether all who read it may take all of these rows."""
        last = int(delta.ts[-1])
        return all(last < reader.sources.clock for _, reader in self.readers)

    def cut(self, now: int, batch: int, begins: Begins) -> int:
        """How far to work with about so many rows: to the end of an instant, and at most to one that it may work up to."""
        assert self.operator is not None
        for arc in self.arcs:
            if arc.waiting > batch:
                now = min(now, arc.cut(batch))
        if not self.spec.shows_time:
            return now
        rows = self.arcs[0]
        return self.operator.cut(now, rows.first, min(rows.waiting, batch), self.begin(begins))

    def take(self, now: int) -> list[Delta]:
        """All that happens to its inputs before an instant."""
        return [arc.take(now) for arc in self.arcs]

    def run(self, inputs: Sequence[Delta], now: int, begins: Begins) -> Delta:
        """Work up to an instant; what it gives is still to be put down, or handed over."""
        assert self.operator is not None
        started = self.began = time.perf_counter()
        delta = self.operator.run(inputs, now, self.begin(begins) if self.begins_with is not None else None)
        self.metrics.seconds += time.perf_counter() - started
        self.observe(inputs, delta)
        self.aim = now
        return delta

    def go_on(self) -> Delta:
        """The next part of what it makes of what it took last."""
        assert self.operator is not None
        started = time.perf_counter()
        delta = self.operator.go_on()
        self.metrics.seconds += time.perf_counter() - started
        self.observe((), delta)
        return delta

    @property
    def is_on_its_way(self) -> bool:
        """Whether it still has something to give of what it took last."""
        return self.operator is not None and self.operator.through is not None

    @property
    def got_to(self) -> int:
        """Before this instant it has given everything, since it was run."""
        through = None if self.operator is None else self.operator.through
        return self.aim if through is None else through

    def observe(self, inputs: Sequence[Delta], delta: Delta) -> None:
        """Keep what a sink gave, and count."""
        metrics = self.metrics
        if len(delta.ts):
            count(metrics.out, delta)
            if self.results is not None:
                self.results.append((self, delta))
            if self.early is not None and inputs:
                self.early.observe(inputs[0], delta)
        for arc, taken in zip(metrics.arcs, inputs, strict=False):  # a part that is given later takes nothing
            if len(taken.ts):
                count(arc, taken)

    def gave(self, delta: Delta) -> None:
        count(self.metrics.out, delta)
        if self.results is not None:
            self.results.append((self, delta))

    def tapped(self) -> Iterator[tuple[Node, Delta, int]]:
        """What came out of its taps when it last ran, each with the instant before which that is all."""
        if self.taps:
            assert isinstance(self.operator, ManyOutputs)
            until, took = self.operator.given_until, int(SECOND * (time.perf_counter() - self.began))
            for spec, delta in self.operator.given():
                tap = self.taps[spec]
                if len(delta.ts):
                    tap.gave(delta)
                    tap.responded(took, len(delta.ts))
                yield tap, delta, self.aim if until is None else until

    def responded(self, took: int, rows: int) -> None:
        """So many rows came out of a tap, so many microseconds after what they are made of had come in."""
        if self.metrics.response is None:
            self.metrics.response = Delays()
        self.metrics.response.add_equal(took, rows)

    def begin(self, begins: Begins) -> int | None:
        """When the query of an operator begins."""
        if not self.begins_with:
            return BEGINNING  # tables were always there
        found = min((b for b in (begins[name] for name in self.begins_with) if b is not None), default=FOREVER)
        if found == FOREVER:
            return None
        time = self.spec.present_of
        return found if time is None else max(found, begins.get(present(time)) or found)


def count(traffic: Traffic, delta: Delta) -> None:
    """Rows are looked at once, however many read them."""
    positive, negative, messages = delta.signs or signs_of(delta)
    traffic.positive += positive
    traffic.negative += negative
    traffic.messages += messages


def signs_of(delta: Delta) -> tuple[int, int, int]:
    positive, negative = count_signs(delta.weight)
    delta.signs = positive, negative, len(delta.ts) - positive - negative
    return delta.signs
