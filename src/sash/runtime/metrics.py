"""Metrics: what the operators of a job did, as the papers measure it.

    arc        rows through it by sign, and messages that only tell the time
    operator   rows out, seconds at work, capacity (rows in a second of them), probes of the other side of a join,
               rows and bytes of its state, how late it told what it had to tell
    view       changes, and how long an effect took to appear: in the time of the streams, and in that of the wall

Counts are taken from the sizes of deltas, once a step. Those of several shards, or of several steps, can be added.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sash.deltas import Delta, Int64s
from sash.kernels.counting import count_signs
from sash.operators.delays import Delays
from sash.operators.spec import PortSpec, Spec, parts
from sash.schema import SECOND

KEPT = 1024  # instants that a clockwork may remember though they are over
FIRST_TOLD, ONE_IN = 64, 16  # steps with few changes of a view whose delays are told: all at first, then one of so many
FEW_CHANGES = 64


@dataclass(slots=True)
class Traffic:
    """What went through an arc."""

    positive: int = 0
    negative: int = 0
    messages: int = 0

    def add(self, delta: Delta) -> None:
        count = len(delta)
        if not count:
            return
        positive, negative = count_signs(delta.weight)
        self.positive += positive
        self.negative += negative
        self.messages += count - positive - negative

    def merge(self, other: Traffic) -> None:
        self.positive += other.positive
        self.negative += other.negative
        self.messages += other.messages

    @property
    def rows(self) -> int:
        return self.positive + self.negative

    def figures(self) -> dict[str, int]:
        return {"positive": self.positive, "negative": self.negative, "messages": self.messages}


class Buffers(NamedTuple):
    """Of an operator with several outputs: the most rows that waited for a turn, rows that it keeps, and the most numbers of rows
    that were kept beside: what was found for one output and waited for others.
    """

    input: int
    join: int
    output: int


@dataclass(slots=True)
class OperatorMetrics:
    """Of one operator: since it was built, or of all shards together."""

    name: str
    id: str
    sources: list[str]
    arcs: list[Traffic]
    out: Traffic = field(default_factory=Traffic)
    seconds: float = 0.0
    probes: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    delays: Delays | None = None
    response: Delays | None = None  # of an output of several: from when rows were taken to when it gave what they make
    buffers: Buffers | None = None

    @staticmethod
    def of(spec: Spec) -> OperatorMetrics:
        name = type(spec).__name__.removesuffix("Spec")
        sources = [_source(below) for below in spec.inputs]
        return OperatorMetrics(name, spec.fingerprint, sources, [Traffic() for _ in sources])

    def merge(self, other: OperatorMetrics) -> None:
        """Add what another shard, or a later step, counted; state is that of the shards, so it is not added here."""
        for mine, theirs in zip(self.arcs, other.arcs, strict=True):
            mine.merge(theirs)
        self.out.merge(other.out)
        self.seconds += other.seconds
        self.probes += other.probes
        if other.delays is not None:
            self.delays = self.delays or Delays()
            self.delays.merge(other.delays)
        if other.response is not None:
            self.response = self.response or Delays()
            self.response.merge(other.response)
        if other.buffers is not None:
            before = self.buffers or other.buffers
            self.buffers = Buffers(
                max(before.input, other.buffers.input), other.buffers.join, max(before.output, other.buffers.output)
            )

    @property
    def capacity(self) -> float:
        """Rows and messages that come in, for every second at work."""
        came = sum(arc.rows + arc.messages for arc in self.arcs)
        return came / self.seconds if self.seconds else 0.0

    def figures(self) -> dict[str, Any]:
        arcs = [{"from": source, **arc.figures()} for source, arc in zip(self.sources, self.arcs, strict=True)]
        found: dict[str, Any] = {
            "operator": self.name, "id": self.id, "arcs": arcs, "out": self.out.figures(), "seconds": self.seconds,
            "capacity": self.capacity, "state_rows": self.state_rows, "state_bytes": self.state_bytes,
        }
        if self.probes:
            found["probes"] = self.probes
        if self.delays is not None:
            found["delay"] = self.delays.summary()
        if self.response is not None:
            found["response"] = self.response.summary()
        if self.buffers is not None:
            found["buffers"] = self.buffers._asdict()
        return found

    def packed(self) -> dict[str, Any]:
        """For a packet."""
        arcs = [[arc.positive, arc.negative, arc.messages] for arc in (*self.arcs, self.out)]
        numbers = [self.probes, self.state_rows, self.state_bytes]
        late, response = (None if one is None else one.packed() for one in (self.delays, self.response))
        return {
            "name": self.name, "id": self.id, "sources": self.sources, "arcs": arcs, "seconds": self.seconds,
            "numbers": numbers, "delays": late, "response": response, "buffers": self.buffers,
        }

    @staticmethod
    def unpacked(packed: Mapping[str, Any]) -> OperatorMetrics:
        *arcs, out = (Traffic(*numbers) for numbers in packed["arcs"])
        probes, rows, size = packed["numbers"]
        late, response = (None if packed[name] is None else Delays.unpacked(packed[name]) for name in ("delays", "response"))
        buffers = None if packed["buffers"] is None else Buffers(*packed["buffers"])
        return OperatorMetrics(
            packed["name"], packed["id"], list(packed["sources"]), arcs, out, packed["seconds"], probes, rows, size, late,
            response, buffers,
        )


@dataclass
class ViewMetrics:
    """Of the changes of a view."""

    changes: int = 0
    wall: Delays = field(default_factory=Delays)
    _told: int = 0  # so often were there some
    _untold: int = 0  # changes that were not looked at
    _last: int = 0  # the delay of those that were looked at last

    def is_looked_at(self, changes: int) -> bool:
        """More changes came; whether it is to be told how late they are. Of few, one time in so many stands for the others."""
        self.changes += changes
        self._told += 1
        if changes > FEW_CHANGES or self._told <= FIRST_TOLD or self._told % ONE_IN == 0:
            return True
        self._untold += changes
        return False

    def late(self, delay: int, changes: int) -> None:
        """So many are so late; and, for all that is known, those before them."""
        self.wall.add_equal(delay, changes + self._untold)
        self._last, self._untold = delay, 0

    def settle(self) -> None:
        """Before somebody looks."""
        if self._untold:
            self.late(self._last, 0)


class Clockwork:
    """When the time of the streams reached an instant, on the wall: where the delay of its effects begins."""

    def __init__(self) -> None:
        self._instants: list[int] = []
        self._seconds: list[float] = []

    def reached(self, instant: int, seconds: float) -> None:
        if not self._instants or instant > self._instants[-1]:
            self._instants.append(instant)
            self._seconds.append(seconds)

    def tell_delays(self, view: ViewMetrics, instants: Int64s, seconds: float) -> None:
        """Of effects at these instants, which are in order, that appear now. What was there before all time is not late.

        Time reaches few instants in a step, so few delays differ: each is told once, with how many have it.
        """
        if not self._instants:
            view.late(0, len(instants))
            return
        start, last = 0, len(self._instants) - 1
        while start < len(instants):
            place, stop = min(bisect_left(self._instants, int(instants[start])), last), len(instants)
            if place < last and instants[-1] > self._instants[place]:
                stop = int(instants.searchsorted(self._instants[place], side="right"))
            view.late(int((seconds - self._seconds[place]) * SECOND), stop - start)
            start = stop
        self._forget(int(instants[0]))

    def _forget(self, before: int) -> None:
        """There will be no effects before this instant any more."""
        if len(self._instants) > KEPT:
            place = bisect_left(self._instants, before)
            del self._instants[:place], self._seconds[:place]


class JobMetrics:
    """Adds up what operators and views of a job tell."""

    def __init__(self) -> None:
        self.views: dict[str, ViewMetrics] = {}
        self._operators: dict[str, OperatorMetrics] = {}
        self._states: dict[str, dict[object, tuple[int, int]]] = {}

    def tell(self, place: object, packed: Iterable[Mapping[str, Any]]) -> None:
        """What the operators of a shard have done since they told last, and how large their state is now."""
        for one in map(OperatorMetrics.unpacked, packed):
            if one.id in self._operators:
                self._operators[one.id].merge(one)
            else:
                self._operators[one.id] = one
            self._states.setdefault(one.id, {})[place] = (one.state_rows, one.state_bytes)

    def and_now(self, place: object, packed: list[dict[str, Any]]) -> JobMetrics:
        """These metrics with the newest of a shard, whose operators are all that there are; this object stays as it is."""
        whole, ids = JobMetrics(), {one["id"] for one in packed}
        whole.views = self.views
        whole.tell(place, [one.packed() for id_, one in self._operators.items() if id_ in ids])
        whole.tell(place, packed)
        return whole

    def keep(self, specs: Iterable[Spec]) -> None:
        """Forget operators that are no part of these."""
        ids = {one.fingerprint for spec in specs for one in parts(spec)}
        for id_ in self._operators.keys() - ids:
            del self._operators[id_], self._states[id_]

    def view(self, name: str) -> ViewMetrics:
        found = self.views.get(name)
        if found is None:
            found = self.views[name] = ViewMetrics()
        return found

    def operators(self) -> Iterator[OperatorMetrics]:
        for id_, one in self._operators.items():
            states = self._states[id_].values()
            one.state_rows, one.state_bytes = (sum(numbers) for numbers in zip(*states, strict=True))
            yield one

    def figures(self, specs: Mapping[str, Spec]) -> dict[str, Any]:
        """Everything as plain data; `specs` are those of the views."""
        operators = {one.id: one for one in self.operators()}
        views = {name: self._view_figures(name, spec, operators) for name, spec in specs.items()}
        return {"views": views, "operators": [one.figures() for one in operators.values()]}

    def _view_figures(self, name: str, spec: Spec, operators: Mapping[str, OperatorMetrics]) -> dict[str, Any]:
        view, late = self.view(name), Delays()
        view.settle()
        below = {one.fingerprint for one in parts(spec)}
        for id_ in below & set(operators):
            delays = operators[id_].delays
            if delays is not None:
                late.merge(delays)
        if not late.count:
            late.add_none(view.changes)  # what nobody held back came at its own instant
        return {"changes": view.changes, "delay": {"event_time": late.summary(), "wall_time": view.wall.summary()}}


def totals(operators: Iterable[Mapping[str, Any]]) -> dict[str, int | None]:
    """Of all operators of a shard, packed: numbers that can be added, but for the greatest delay."""
    found = list(operators)
    joins = [one for one in found if one["name"].endswith("Join")]
    late = [one["delays"][0] for one in found if one["delays"] is not None]
    positive, negative, messages = (sum(arc[n] for one in found for arc in one["arcs"][:-1]) for n in range(3))
    return {
        "positive": positive, "negative": negative, "messages": messages,
        "probes": sum(one["numbers"][0] for one in found), "kept": sum(one["numbers"][1] for one in found),
        "join_rows": sum(sum(arc) for one in joins for arc in one["arcs"][:-1]),
        "join_work": int(SECOND * sum(one["seconds"] for one in joins)),
        "delays": sum(numbers[0] for numbers in late), "delay_total": sum(numbers[1] for numbers in late),
        "delay_maximum": max((numbers[2] for numbers in late), default=0),
    }


def _source(spec: Spec) -> str:
    """Where an arc begins: a stream by its name, an operator by its id, also behind an exchange."""
    if not isinstance(spec, PortSpec):
        return spec.fingerprint
    return spec.stream or ("" if spec.source is None else spec.source.fingerprint)
