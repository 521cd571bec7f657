"""A shard: one graph over one arena. What both hosts run.

    packets of a step ─▶ ports (`ports.py`) ─▶ graph ─▶ changes of views (`shown_views.py`), exchanges to higher levels

A step is a function of the arena and its packets, so that a step that is run again gives the same answer again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from sash.operators.operator import AwaitsEnd
from sash.operators.spec import PortSpec, Spec, below, parts
from sash.plan.streams import Stamp
from sash.planner.job import Job, View, time_of
from sash.runtime.back_fill import Filled, FromHere, align, back_fill, complete_since
from sash.runtime.clocks import Clocks
from sash.runtime.entrance import Came
from sash.runtime.exchange import send
from sash.runtime.graph import Feed, Graph, Results
from sash.runtime.intake import Intake
from sash.runtime.live import Lanes
from sash.runtime.node import present
from sash.runtime.packets import OUTSIDE, Cargo, Packet, facts_body
from sash.runtime.ports import Ports
from sash.runtime.positions import by_position
from sash.runtime.schedule import parse_schedule
from sash.runtime.shown_views import Changes, ShownViews
from sash.scalar.evaluate import Failures
from sash.schema import BEGINNING
from sash.stores.arena import Arena
from sash.stores.interner import Interner


@dataclass
class Outcome:
    """What a step gives: packets, among them rows that were late or dead, and the net changes of views, as lanes.

    The lanes are good until the next step: strings in them are codes of this shard (`Shard.interner`).
    """

    rows: list[Packet]
    changes: Changes = field(default_factory=list)
    sent: list[Packet] = field(default_factory=list)

    def packed(self) -> list[Packet]:
        """For those who are elsewhere."""
        return [*self.rows, *(packet for view, net in self.changes for packet in view.packets(net)), *self.sent]


class Shard:
    """Shard number `shard` of a level."""

    def __init__(
        self, job: Job, level: int, shard: int, arena: Arena, take_part: Callable[[Outcome], None] | None = None
    ) -> None:
        """`take_part` is given the changes of a step as they come, where they are many; the outcome of the step has the rest."""
        self._level, self._shard, self._arena, self._take_part = level, shard, arena, take_part
        self.interner = Interner(arena)  # it knows the strings of all lanes
        self.failures = Failures()
        self.clocks = Clocks(arena)
        self._ports = Ports(level, shard, arena, self.interner, self.clocks)
        self._views = ShownViews(shard, arena, self.interner, self.clocks)
        self._is_end = False  # whether operators were told of the end
        self._known_views: tuple[View, ...] = ()  # of all levels, one of every spec
        self._sinks = tuple[Spec, ...]()  # views, and what other levels want
        self._await_end: list[AwaitsEnd] = []  # operators that wait for rows until the last one has come
        self.graph = Graph((), arena, self.interner, self.failures, is_first_shard=shard == 0, hands_out=take_part is not None)
        self._take_job(job)
        for sink in self._sinks:
            self.graph.add(sink)
        self._note(self.graph.specs)
        self.reschedule(job.schedules)

    def reschedule(self, schedules: Iterable[tuple[str, str]]) -> None:
        """Run operators by these schedules: of views by name, and of all others."""
        chosen = dict(schedules)
        self.graph.use(parse_schedule(chosen.get("", "auto")))
        for view in self._job.views if len(chosen) > 1 else ():
            if view.name in chosen and view.level == self._level:
                self.graph.use(parse_schedule(chosen[view.name]), below(view.spec))

    # Steps

    def step(self, packets: Sequence[Packet]) -> list[Packet]:
        """Work off what came, and give what is to go out."""
        return [*self.work(packets).packed(), self._facts(packets)]

    def work(self, packets: Sequence[Packet]) -> Outcome:
        """The same for a host in this process."""
        self.prepare()
        own = [packet for packet in packets if packet.level == self._level]
        self._learn_partitions(own)
        first, later = by_position(own)
        out, is_end = Outcome(list(self._ports.take(first))), False
        for control, changes in later:
            is_end = self.clocks.take_control(control) or is_end
            out.rows += self._ports.take(changes)
        out.rows = self._ports.in_one_order(out.rows)
        self._tell_the_end(is_end)
        results = self._step(self._ports.feeds(own))
        for spec in self._views:
            results[spec]  # all of them, in their order
        out.changes += self._views.changes(results, self.graph if is_end else None)
        for port in self._ports.exchanges:
            assert port.spec.source is not None
            out.sent += send(port, results[port.spec.source], self._shard, self._job.shards, self.interner)
        self._ports.forget()
        return out

    def prepare(self) -> None:
        """Before rows become lanes for `take`: strings that nobody holds may be forgotten now."""
        if self.interner.has_grown:
            self.forget()  # few rows may be of many bytes
            self.interner.sweep()
        elif self._arena.left:
            self._arena.give_back()

    def take(self, stream: str, came: Came) -> Outcome:
        """A step with rows of one stream, as lanes with their times, none of them late: from a host in this process.

        Only what these rows may move is looked at.
        """
        if self._is_end:
            self._tell_the_end(False)
        moved = self._ports.put(stream, came)
        out = Outcome([], self._views.changes(self._step(self._ports.feeds_of(moved))))
        self._ports.forget(moved.intakes)
        return out

    def _step(self, feeds: Mapping[PortSpec, Feed]) -> Results:
        """Let the graph work. What many changes come to goes out on the way, if somebody takes it; exchanges wait for the end."""
        is_whole = self._take_part is None or not self._views.are_all_begun or bool(self._ports.exchanges)
        return self.graph.step(feeds, self._sinks, self._ports.begins, None if is_whole else self._show_part)

    def _show_part(self, results: Results) -> None:
        assert self._take_part is not None
        self._take_part(Outcome([], self._views.changes_so_far(results)))

    def _learn_partitions(self, packets: Sequence[Packet]) -> None:
        """Before any rows of the step: one that is new starts at the clock that its stream has had so far."""
        for packet in packets:
            if packet.cargo is Cargo.CONTROL and "known" in (told := packet.told()):
                self.clocks.know(packet.name, told["known"], told["delay"])

    def _tell_the_end(self, is_end: bool) -> None:
        self._is_end = is_end
        for operator in self._await_end:
            operator.end = self.clocks.time(operator.time).end if is_end else None

    def _facts(self, packets: Sequence[Packet]) -> Packet:
        splits = [packet for packet in packets if packet.cargo is Cargo.SPLIT and packet.level == self._level]
        rows = sum(packet.facts()["rows"] or 0 for packet in splits)
        facts: dict[str, int | None] = {
            "level": self._level, "rows": rows, "clock": self.clocks.least, "state": self._arena.used,
            "failures": self.failures.total,
        }
        return Packet(OUTSIDE, self._shard, Cargo.FACTS, "", -1, self._shard, facts_body(facts))

    def forget(self) -> None:
        """Forget at once what no window of a view holds, before somebody looks at what is remembered."""
        self._ports.forget(at_once=True)

    # Another job

    def change(self, job: Job, packets: Sequence[Packet] = ()) -> list[Packet]:
        """Run another job from now on, and give what is to go out: the beginnings of views that are new, and what others need."""
        return self.take_up(job, packets).packed()

    def take_up(self, job: Job, packets: Sequence[Packet] = ()) -> Outcome:
        """The same for a host in this process. What both jobs have goes on as it was; what is new begins with what is in memory.

        Among the packets are the rows of tables that were not read before, and, for a level that is new, what time it is.
        """
        if self._ports.remembers:  # else all that is here is for those who come
            self.forget()
        known, had, before, shown = self.graph.running, set(self._ports.intakes), self._sinks, self._views.specs
        grown = self._take_job(job)
        for packet in packets:
            if packet.cargo is Cargo.ROWS:
                self._ports.seed(packet)
            elif packet.cargo is Cargo.CONTROL and "advanced" in packet.facts():
                self.clocks.merge(packet.name, packet.facts())
        for port in set(self._ports.intakes) - had:
            self._ports.intakes[port].missed_before(self.clocks[str(port.stream)].greatest)
        new, begun = (grown, grown) if grown is not None else self._new_among_others(before, shown)
        new_parts = {part: None for spec in new for part in below(spec) if part not in known}
        here = [one for spec in begun if (one := self._from_here(spec, known)) is not None]
        from_here = {one.spec for one in here}
        again = [spec for spec in begun if spec not in from_here]
        filled = self._back_fill(again, known)
        out = self._begun(again, filled.results, known)
        self.graph.begin_taps()
        for spec in new:
            self.graph.add(spec)
        self.graph.recall(filled.pasts)
        for one in here:
            out.changes.append(self._views.begin(one.spec, Feed(one.begin(self.graph, self.interner), one.clock)))
        if len(before) + len(new) > len(self._sinks):
            for spec in self.graph.keep(self._sinks):
                self._arena.drop(f"{spec.fingerprint}/")
            self._note(self.graph.specs)
        else:
            self._note_too(new_parts)
        for waiting in filled.waiting:
            self.graph.fill(*waiting)
        self.forget()
        return out

    def _new_among_others(self, before: Iterable[Spec], shown: Container[Spec]) -> tuple[list[Spec], list[Spec]]:
        """Sinks that come where others go, and what is to begin."""
        had, known = set(before), self.graph.running
        new = [spec for spec in self._sinks if spec not in had]
        return new, [spec for spec in self._sinks if spec not in known or (spec in self._views and spec not in shown)]

    def _take_job(self, job: Job) -> list[Spec] | None:
        """Read and show what a job says. If it has the views of the one before, and more: what is new of them here."""
        self._job = job
        self.clocks.use(job)
        had_exchanges = bool(self._ports.exchanges)
        self._ports.use(job)
        known, self._known_views = self._known_views, job.first_views
        if job.first_views[: len(known)] != known or had_exchanges or self._ports.exchanges:
            self._show_others(job.first_views)
            return None
        return self._show_more(job.first_views[len(known) :])

    def _show_others(self, first: Sequence[View]) -> None:
        """Not the views that were shown, or not those alone; and what other levels want."""
        self._views.show(view for view in first if view.level == self._level)
        sent = (port.spec.source for port in self._ports.exchanges if port.spec.source is not None)
        self._sinks = tuple(dict.fromkeys([*self._views, *sent]))
        if self._job.remembers:
            self._ports.remember(view.spec for view in first)

    def _show_more(self, views: Sequence[View]) -> list[Spec]:
        """More views than before: there may be thousands, so no other one is looked at."""
        here = [view for view in views if view.level == self._level]
        for view in here:
            self._views.show_too(view)
        found = [view.spec for view in here]
        self._sinks += tuple(found)
        if self._job.remembers:
            self._ports.remember_too([view.spec for view in views])
        return found

    def _note(self, specs: Iterable[Spec]) -> None:
        """The graph has these specs."""
        every = [*specs]
        self._ports.read_by(every)
        self._await_end = [*self._awaiting(every)]

    def _note_too(self, specs: Iterable[Spec]) -> None:
        """The graph has these specs besides."""
        every = [*specs]
        self._ports.read_too(every)
        self._await_end += self._awaiting(every)

    def _awaiting(self, specs: Iterable[Spec]) -> Iterator[AwaitsEnd]:
        return (operator for operator in map(self.graph.operator, specs) if isinstance(operator, AwaitsEnd))

    def _back_fill(self, specs: Sequence[Spec], known: Set[Spec]) -> Filled:
        """Fill new specs with what is in memory."""
        if not specs:
            return Filled({}, [], {})
        align(specs, known, self._arena, self._ports.intakes)
        ports = {part for spec in specs for part in parts(spec) if isinstance(part, PortSpec)}
        return back_fill(
            specs, known, self._arena, self.interner, self._ports.remembered(ports),
            {**self._ports.begins, **{present(time): instant for time, instant in self.clocks.presents().items()}},
            is_first_shard=self._shard == 0,
        )

    def _begun(self, specs: Iterable[Spec], results: Mapping[Spec, Feed], known: Set[Spec]) -> Outcome:
        """The beginnings of views that are new, or whose operators run already for others; and what exchanges would have sent."""
        out = Outcome(self._knowledge())
        for spec in specs:
            if spec in self._views:
                is_whole = not any(isinstance(part, PortSpec) and part.source is not None for part in parts(spec))
                out.changes.append(self._views.begin(spec, results[spec], is_whole=is_whole))
        for port in self._ports.exchanges:
            source = port.spec.source
            if source is not None and source in results and source not in known:
                sent = send(port, results[source], self._shard, self._job.shards, self.interner)
                out.sent += [packet for packet in sent if packet.cargo is Cargo.DELTA]  # clocks come with the step
        return out

    def _from_here(self, spec: Spec, known: Set[Spec]) -> FromHere | None:
        """How a view begins with what a running operator has, if it can."""
        ports = [part for part in parts(spec) if isinstance(part, PortSpec)]
        if len(ports) != 1 or ports[0].base not in self._ports.intakes or spec not in self._views:
            return None
        clock = self.clocks.of(ports[0].base)
        if clock <= BEGINNING or clock != self.clocks.final_before(self._views[spec].view.time):
            return None
        return FromHere.of(spec, clock, known, self.graph)

    def _knowledge(self) -> list[Packet]:
        """What time it is, for levels that are new."""
        if (self._level, self._shard) != (1, 0):
            return []
        others = [(level, shard) for level in range(2, self._job.levels + 1) for shard in range(self._job.shards)]
        return [
            Packet(level, shard, Cargo.CONTROL, name, -1, self._shard, facts_body(facts))
            for level, shard in others for name, facts in self.clocks.knowledge().items()
        ]

    # What is asked

    def metrics(self) -> list[dict[str, Any]]:
        """What the operators have done since this shard was built, packed."""
        return [one.packed() for one in self.graph.metrics()]

    def shown(self, spec: Spec) -> Lanes | None:
        """The answer of a view as far as it is final, if the operator that gives its changes remembers what they come to."""
        operator = self.graph.operator(spec)
        rows = None if operator is None else operator.shown()
        return None if rows is None else self._views[spec].shown(rows)

    def intake(self, port: PortSpec) -> Intake | None:
        """Where rows of a stream come in, if it is read here."""
        return self._ports.intakes.get(port)

    @property
    def partitions(self) -> dict[str, dict[str, int]]:
        """The clocks of the partitions of every stream that has some, if anything is done when a stream falls silent."""
        if all(stream.is_table or (stream.idle is None and stream.stamp is Stamp.EXTERNAL) for stream in self._job.streams):
            return {}
        return {name: clock.partitions for name, clock in self.clocks.streams.items() if clock.partitions}

    def now_of(self, spec: Spec) -> int:
        """Where the time of a view is."""
        return self.clocks.time(time_of(spec)).now

    def final_before(self, spec: Spec) -> int:
        """All before it is final for a view."""
        return self.clocks.final_before(time_of(spec))

    def complete_since(self, spec: Spec) -> int | None:
        """From which instant on a view that is created now is right for all rows that ever came; None: never."""
        return complete_since(self._ports.needs(spec), self._ports.intakes, self.now_of(spec))

    def is_complete(self, spec: Spec) -> bool:
        """Whether a view that is created now is right for all rows that ever came."""
        since = self.complete_since(spec)
        return since is not None and since <= self.clocks.least

    def remembers_all(self, spec: Spec, view: View) -> bool:
        """Whether the rows that are remembered here make an operator of a view again as it is."""
        if not self._job.remembers:
            return False
        since = complete_since(self._ports.needs(spec), self._ports.intakes, self.now_of(view.spec))
        return since is not None and since <= self.final_before(view.spec)
