"""A shard: one graph over one arena. What both hosts run.

    packets of a step ─▶ stream clocks, lateness ─▶ ports ─▶ graph ─▶ exchanges to higher levels, changes of views

A step is a function of the arena and its packets, so that a step that is run again gives the same answer again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sash.deltas import Delta
from sash.operators.expiry.input_expire import InputExpire
from sash.operators.many_outputs import Past
from sash.operators.spec import TIME, PortSpec, Spec, beginning, below, parts
from sash.operators.streams.emit import Emit
from sash.plan.streams import Stamp, StreamSpec
from sash.plan.times import Time
from sash.planner.job import Job, Port, View, time_of
from sash.planner.lookback import Lookbacks, kept_for, lookbacks
from sash.runtime.back_fill import FromHere, Waiting, align, back_fill, complete_since
from sash.runtime.clocks import Clocks
from sash.runtime.entrance import Came
from sash.runtime.exchange import receive, send
from sash.runtime.graph import Feed, Graph, Results
from sash.runtime.instants import Instants
from sash.runtime.intake import Intake
from sash.runtime.lateness import Limits
from sash.runtime.latent import LatentIntake
from sash.runtime.live import Lanes
from sash.runtime.losses import late_rows
from sash.runtime.lost_order import LOST, by_full_row
from sash.runtime.node import present
from sash.runtime.packets import OUTSIDE, Cargo, Packet, facts_body
from sash.runtime.placed import PlacedIntake
from sash.runtime.positions import by_position
from sash.runtime.schedule import parse_schedule
from sash.runtime.unit import UnitIntake
from sash.runtime.view_changes import ViewChanges, held_by
from sash.scalar.evaluate import Failures
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Arena
from sash.stores.interner import Interner


@dataclass
class Outcome:
    """What a step gives: packets, among them rows that were late or dead, and the net changes of views, as lanes.

    The lanes are good until the next step: strings in them are codes of this shard (`Shard.interner`).
    """

    rows: list[Packet]
    changes: list[tuple[ViewChanges, Delta]] = field(default_factory=list)
    sent: list[Packet] = field(default_factory=list)

    def packed(self) -> list[Packet]:
        """For those who are elsewhere."""
        return [*self.rows, *(packet for view, net in self.changes for packet in view.packets(net)), *self.sent]


class Moved(NamedTuple):
    """What rows of one stream may move."""

    entered: list[Intake]  # where they come in
    intakes: dict[PortSpec, Intake]
    ports: list[tuple[PortSpec, tuple[PortSpec, ...]]]  # with the names under which the graph reads each


class Beginnings(Mapping[str, int | None]):
    """The instants of the first rows of all streams, and of time as such; looked up when somebody asks."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self.latent: dict[str, LatentIntake] = {}  # by the name of what begins with the first row that was given a time here

    def __getitem__(self, name: str) -> int | None:
        return self.latent[name].begin if name in self.latent else self._clocks.begin(name)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._clocks.streams, TIME, *self.latent])

    def __len__(self) -> int:
        return len(self._clocks.streams) + 1 + len(self.latent)


class Shard:
    """Shard number `shard` of a level."""

    def __init__(
        self, job: Job, level: int, shard: int, arena: Arena, take_part: Callable[[Outcome], None] | None = None
    ) -> None:
        """`take_part` is given the changes of a step as they come, where they are many; the outcome of the step has the rest."""
        self._level, self._shard, self._arena, self._take_part = level, shard, arena, take_part
        self._interner = Interner(arena)
        self.failures = Failures()
        self._clocks = Clocks(arena)
        self._intakes: dict[PortSpec, Intake] = {}
        self._views: dict[Spec, ViewChanges] = {}
        self._new: set[Spec] = set()  # views that begin with the next step
        self._holding: dict[Spec, None] = {}  # views that hold changes back
        self._moved: dict[str, Moved] = {}  # by the stream whose rows come
        self._begins = Beginnings(self._clocks)
        self._is_end = False  # whether operators were told of the end
        self._waiting: list[Waiting] = []
        self._pasts: dict[Spec, Past] = {}
        self._remembered: dict[Spec, None] = {}  # for what the past is kept
        self._known_views: tuple[View, ...] = ()  # of all levels, one of every spec
        self._exchanges: list[Port] = []
        self._sinks = tuple[Spec, ...]()  # views, and what other levels want
        self._graph = Graph((), arena, self._interner, self.failures, is_first_shard=shard == 0, hands_out=take_part is not None)
        self._take_job(job)
        for sink in self._sinks:
            self._graph.add(sink)
        self._note_ports(self._graph.specs)
        self.reschedule(job.schedules)

    @property
    def clocks(self) -> dict[str, int]:
        return {name: clock.clock for name, clock in self._clocks.streams.items()}

    @property
    def partitions(self) -> dict[str, dict[str, int]]:
        """The clocks of the partitions of every stream that has some, if anything is done when a stream falls silent."""
        if all(stream.is_table or (stream.idle is None and stream.stamp is Stamp.EXTERNAL) for stream in self._job.streams):
            return {}
        return {name: clock.partitions for name, clock in self._clocks.streams.items() if clock.partitions}

    @property
    def graph(self) -> Graph:
        return self._graph

    def reschedule(self, schedules: Iterable[tuple[str, str]]) -> None:
        """Run operators by these schedules: of views by name, and of all others."""
        chosen = dict(schedules)
        self._graph.use(parse_schedule(chosen.get("", "auto")))
        for view in self._job.views if len(chosen) > 1 else ():
            if view.name in chosen and view.level == self._level:
                self._graph.use(parse_schedule(chosen[view.name]), below(view.spec))

    def metrics(self) -> list[dict[str, Any]]:
        """What the operators have done since this shard was built, packed."""
        return [one.packed() for one in self._graph.metrics()]

    def early(self) -> dict[str, float]:
        return self._graph.early()

    def early_counts(self) -> dict[str, tuple[int, int]]:
        return self._graph.early_counts()

    def span(self, stream: str) -> tuple[int, int] | None:
        """The first and the greatest timestamp of a stream so far."""
        clock = self._clocks[stream]
        return None if clock.begin is None else (clock.begin, clock.greatest)

    @property
    def interner(self) -> Interner:
        """It knows the strings of all lanes."""
        return self._interner

    def step(self, packets: Sequence[Packet]) -> list[Packet]:
        """Work off what came, and give what is to go out."""
        return [*self.work(packets).packed(), self._facts(packets)]

    def work(self, packets: Sequence[Packet]) -> Outcome:
        """The same for a host in this process."""
        self.prepare()
        own = [packet for packet in packets if packet.level == self._level]
        self._learn_partitions(own)
        first, later = by_position(own)
        out, is_end = Outcome(list(self._take_rows(first))), False
        for control, changes in later:
            is_end = self._clocks.take_control(control) or is_end
            out.rows += self._take_rows(changes)
        if self._unordered and any(packet.cargo in LOST for packet in out.rows):
            out.rows = list(by_full_row(out.rows, self._unordered))
        self._tell_the_end(is_end)
        results = self._step(self._feeds(own))
        for spec in self._views:
            results[spec]  # all of them, in their order
        self._show(results, out, is_end)
        for port in self._exchanges:
            assert port.spec.source is not None
            out.sent += send(port, results[port.spec.source], self._shard, self._job.shards, self._interner)
        self._forget(self._intakes)
        return out

    def prepare(self) -> None:
        """Before rows become lanes for `take`: strings that nobody holds may be forgotten now."""
        if self._interner.has_grown:
            self._forget(self._intakes, at_once=True)  # few rows may be of many bytes
        self._interner.sweep()

    def late_below(self, stream: str) -> int:
        """A row that comes now is late if its ts is below this."""
        return self._clocks[stream].late_below

    def take(self, stream: str, came: Came) -> Outcome:
        """A step with rows of one stream, as lanes with their times, none of them late: from a host in this process.

        Only what these rows may move is looked at.
        """
        if self._is_end:
            self._tell_the_end(False)
        self._clocks.came(stream, came.first, came.greatest)
        moved = self._moved.get(stream) or self._find_moved(stream)
        for intake in moved.entered:
            intake.put(came.delta, came.first, is_in_order=came.is_in_order)
        feeds: dict[PortSpec, Feed] = {}
        for spec, readers in moved.ports:
            feed = self._feed(spec)
            for reader in readers:
                feeds[reader] = feed
        out = Outcome([])
        self._show(self._step(feeds), out, is_end=False)
        self._forget(moved.intakes)
        return out

    def _find_moved(self, stream: str) -> Moved:
        """Ports in whose time a stream is; and its own."""
        together = {name for time in self._job.times if stream in time for name in time} | {stream}
        specs = [spec for spec in self._intakes if self._is_moved(spec, stream, together)]
        specs += [port.spec for port in self._times if stream in port.spec.timed_by]
        readers = {spec: tuple(port for port in self._ports if port.base is spec) for spec in specs}
        intakes = {spec: self._intakes[spec] for spec in specs if spec in self._intakes}
        entered = [intake for spec, intake in intakes.items() if spec.stream == stream]
        moved = self._moved[stream] = Moved(entered, intakes, list(readers.items()))
        return moved

    def _is_moved(self, port: PortSpec, stream: str, together: set[str]) -> bool:
        if port.is_table or port.stamped_by:
            return stream == port.stream or stream in (port.stamped_by or port.timed_by)
        return port.stream in together

    def _feed(self, spec: PortSpec) -> Feed:
        """What is new at a port: rows that are due, and the clock."""
        intake = self._intakes.get(spec)
        if intake is None:
            return Feed(Delta.empty(spec.layout.width), self._clocks.of(spec))
        if isinstance(intake, LatentIntake):
            intake.stamp(self._clocks.final_before(spec.stamped_by or ()))
        return intake.feed(self._clocks.of(spec))

    def _show(self, results: Results, out: Outcome, is_end: bool) -> None:
        """What a step made of the views: of those that it changed, and of those that hold something back."""
        holding = [spec for spec in self._holding if spec not in results] if self._holding else []
        for spec in [*results, *holding]:
            view = self._views.get(spec)
            if view is None:
                continue  # it is for others
            feed = self._due(view, results[spec])
            feed = self._flushed(view.view, feed) if is_end else feed
            if len(feed.delta.ts):
                out.changes.append((view, self._first(view, feed) if spec in self._new else view.net(feed.delta)))
        self._new.clear()

    def _due(self, view: ViewChanges, feed: Feed) -> Feed:
        due = view.due(feed, self._clocks.final_before(view.view.time))
        if view.is_holding:
            self._holding[view.view.spec] = None
        return due

    def _step(self, feeds: Mapping[PortSpec, Feed]) -> Results:
        """Let the graph work. What many changes come to goes out on the way, if somebody takes it; exchanges wait for the end."""
        is_whole = self._take_part is None or bool(self._new) or bool(self._exchanges)
        return self._graph.step(feeds, self._sinks, self._begins, None if is_whole else self._show_part)

    def _show_part(self, results: Results) -> None:
        """What came of some views so far: of each whole instants."""
        assert self._take_part is not None
        out = Outcome([])
        for spec, feed in results.items():
            view = self._views.get(spec)
            if view is not None and len((due := self._due(view, feed)).delta.ts):
                out.changes.append((view, view.net(due.delta)))
        self._take_part(out)

    def _learn_partitions(self, packets: Sequence[Packet]) -> None:
        """Before any rows of the step: one that is new starts at the clock that its stream has had so far."""
        for packet in packets:
            if packet.cargo is Cargo.CONTROL and "known" in (told := packet.told()):
                self._clocks.know(packet.name, told["known"], told["delay"])

    def _first(self, view: ViewChanges, feed: Feed) -> Delta:
        return view.first(feed, self._clocks.time(view.view.time).now)

    def change(self, job: Job, packets: Sequence[Packet] = ()) -> list[Packet]:
        """Run another job from now on, and give what is to go out: the beginnings of views that are new, and what others need."""
        return self.take_up(job, packets).packed()

    def take_up(self, job: Job, packets: Sequence[Packet] = ()) -> Outcome:
        """The same for a host in this process. What both jobs have goes on as it was; what is new begins with what is in memory.

        Among the packets are the rows of tables that were not read before, and, for a level that is new, what time it is.
        """
        if self._remembered:  # else all that is here is for those who come
            self.forget()
        known, had, before, shown = self._graph.running, set(self._intakes), self._sinks, self._views
        grown = self._take_job(job)
        for packet in packets:
            if packet.cargo is Cargo.ROWS:
                self._by_number[packet.port].seed(packet.batch())
            elif packet.cargo is Cargo.CONTROL and "advanced" in packet.facts():
                self._clocks.merge(packet.name, packet.facts())
        for port in set(self._intakes) - had:
            self._intakes[port].missed_before(self._clocks[str(port.stream)].greatest)
        new, begun = (grown, grown) if grown is not None else self._new_among_others(before, shown)
        new_parts = {part: None for spec in new for part in below(spec) if part not in known}
        here = [one for spec in begun if (one := self._from_here(spec, known)) is not None]
        from_here = {one.spec for one in here}
        out = self._back_fill([spec for spec in begun if spec not in from_here], known)
        out.rows += self._knowledge()
        self._graph.begin_taps()
        for spec in new:
            self._graph.add(spec)
        self._graph.recall(self._pasts)
        self._pasts = {}
        for one in here:
            self._begin(one.spec, Feed(one.begin(self._graph, self._interner), one.clock), out)
        if len(before) + len(new) > len(self._sinks):
            for spec in self._graph.keep(self._sinks):
                self._arena.drop(f"{spec.fingerprint}/")
            self._note_ports(self._graph.specs)
        else:
            self._note_ports(new_parts, [*self._ports], [*self._late_ones])
        for waiting in self._waiting:
            self._graph.fill(*waiting)
        self._waiting = []
        self.forget()
        return out

    def _new_among_others(self, before: Iterable[Spec], shown: Container[Spec]) -> tuple[list[Spec], list[Spec]]:
        """Sinks that come where others go, and what is to begin."""
        had, known = set(before), self._graph.running
        new = [spec for spec in self._sinks if spec not in had]
        return new, [spec for spec in self._sinks if spec not in known or (spec in self._views and spec not in shown)]

    def shown(self, spec: Spec) -> Lanes | None:
        """The answer of a view as far as it is final, if the operator that gives its changes remembers what they come to."""
        operator = self._graph.operator(spec)
        rows = None if operator is None else operator.shown()
        return None if rows is None else self._views[spec].shown(rows)

    def unread(self, stream: StreamSpec, first: int | None, greatest: int | None) -> None:
        """Rows came that no view reads: of their stream, a later view has only what comes after them."""
        self._clocks.unread(stream, first, greatest)

    def intake(self, port: PortSpec) -> Intake | None:
        """Where rows of a stream come in, if it is read here."""
        return self._intakes.get(port)

    def begin(self, streams: Iterable[str], instant: int) -> None:
        """Streams that have had no row yet begin, with those that are read beside them."""
        for name in streams:
            if self._clocks[name].begin is None:
                self._clocks[name].took(instant)

    def complete_since(self, spec: Spec) -> int | None:
        """From which instant on a view that is created now is right for all rows that ever came; None: never."""
        return complete_since(self._needs(spec), self._intakes, self.now_of(spec))

    def is_complete(self, spec: Spec) -> bool:
        """Whether a view that is created now is right for all rows that ever came."""
        since = self.complete_since(spec)
        return since is not None and since <= self._clocks.least

    def remembers_all(self, spec: Spec, view: View) -> bool:
        """Whether the rows that are remembered here make an operator of a view again as it is."""
        if not self._job.remembers:
            return False
        now = self.now_of(view.spec)
        since = complete_since(self._needs(spec), self._intakes, now)
        return since is not None and since <= self.final_before(view.spec)

    def learn_beginnings(self, other: Shard) -> None:
        """When streams began for another shard of the same level."""
        for name, clock in other._clocks.streams.items():
            if clock.begin is not None:
                self._clocks[name].took(clock.begin)

    def _needs(self, spec: Spec) -> Lookbacks:
        """What a spec looks at here; where all rows go to the first shard, the others have nothing to say."""
        return {port: reach for port, reach in lookbacks(spec).items() if port.key or self._shard == 0}

    def _knowledge(self) -> list[Packet]:
        """What time it is, for levels that are new."""
        if (self._level, self._shard) != (1, 0):
            return []
        others = [(level, shard) for level in range(2, self._job.levels + 1) for shard in range(self._job.shards)]
        return [
            Packet(level, shard, Cargo.CONTROL, name, -1, self._shard, facts_body(facts))
            for level, shard in others for name, facts in self._clocks.knowledge().items()
        ]

    def _take_job(self, job: Job) -> list[Spec] | None:
        """Read and show what a job says. If it has the views of the one before, and more: what is new of them here."""
        self._job = job
        self._moved.clear()
        self._clocks.use(job)
        ports = [port for port in job.ports if port.level == self._level]
        before, self._intakes = self._intakes, {}
        for port in ports:
            if port.stream is not None:
                self._intakes[port.spec] = before.pop(port.spec) if port.spec in before else self._intake(port)
                self._intakes[port.spec].port = port
        for spec in before:
            self._interner.release(f"ports/{spec.fingerprint}")
            self._arena.drop(f"ports/{spec.fingerprint}/")
        latent = (intake for intake in self._intakes.values() if isinstance(intake, LatentIntake))
        self._begins.latent = {beginning(str(one.port.stream), one.port.spec.stamped_by): one for one in latent}
        self._by_number = {intake.port.number: intake for intake in self._intakes.values()}
        self._unordered = {stream.name for stream in job.streams if not stream.is_in_order}
        self._arrivals = [port for port in ports if port.spec.source is not None]
        self._times = [port for port in ports if port.spec.is_time]
        had_exchanges, self._exchanges = bool(self._exchanges), [
            p for p in job.ports if p.spec.source is not None and p.spec.source_level == self._level
        ]
        known, self._known_views = self._known_views, job.first_views
        if job.first_views[: len(known)] != known or had_exchanges or self._exchanges:
            self._show_others(job.first_views)
            return None
        return self._show_more(job.first_views[len(known) :])

    def _show_others(self, first: Sequence[View]) -> None:
        """Not the views that were shown, or not those alone; and what other levels want."""
        views = {view.spec: view for view in first if view.level == self._level}
        for gone in self._views.keys() - views.keys():
            self._interner.release(held_by(gone))
            self._arena.drop(f"{held_by(gone)}/")
        self._show_views(views)
        sent = (port.spec.source for port in self._exchanges if port.spec.source is not None)
        self._sinks = tuple(dict.fromkeys([*views, *sent]))
        if self._job.remembers:
            self._remember(dict.fromkeys(view.spec for view in first))

    def _show_more(self, views: Sequence[View]) -> list[Spec]:
        """More views than before: there may be thousands, so no other one is looked at."""
        here = [view for view in views if view.level == self._level]
        for view in here:
            self._show_one(view)
        found = [view.spec for view in here]
        self._sinks += tuple(found)
        if self._job.remembers:
            self._keep_for([view.spec for view in views])
        return found

    def _show_one(self, view: View) -> None:
        shown = self._views[view.spec] = ViewChanges(view, self._shard, self._arena, self._interner)
        if shown.is_holding:
            self._holding[view.spec] = None

    def _remember(self, specs: dict[Spec, None]) -> None:
        """Keep as much of the past as these specs, of all levels, look at."""
        if specs.keys() >= self._remembered.keys():
            self._keep_for([spec for spec in specs if spec not in self._remembered])
            return
        self._remembered = specs
        for port, reach in kept_for(specs).items():
            if port in self._intakes:
                self._intakes[port].kept = reach

    def _keep_for(self, more: Sequence[Spec]) -> None:
        """Keep what these look at, too."""
        self._remembered |= dict.fromkeys(more)
        for port, reach in kept_for(more).items():
            if port in self._intakes:
                self._intakes[port].kept = self._intakes[port].kept.joined(reach)

    def _note_ports(self, specs: Iterable[Spec], ports: Sequence[PortSpec] = (), late: Sequence[InputExpire] = ()) -> None:
        """Those among some specs, besides those that are known."""
        every = [*specs]
        self._moved.clear()
        self._ports = [*ports, *(spec for spec in every if isinstance(spec, PortSpec))]
        operators = map(self._graph.operator, every)
        self._late_ones = [*late, *(operator for operator in operators if isinstance(operator, InputExpire))]

    def _show_views(self, views: Mapping[Spec, View]) -> None:
        """Those that go on stay as they are; there may be thousands of them, so nothing is asked of each but its name."""
        before, self._views = self._views, {}
        self._holding = {spec: None for spec in self._holding if spec in views}
        for spec, view in views.items():
            shown = before.get(spec)
            if shown is not None and shown.view.name == view.name:
                self._views[spec] = shown
            else:
                self._holding.pop(spec, None)
                self._show_one(view)

    def _back_fill(self, specs: Sequence[Spec], known: Set[Spec]) -> Outcome:
        """Fill new specs with what is in memory; the beginnings of new views, also of those whose operators run already for
        others, and what exchanges would have sent."""
        out = Outcome([])
        if not specs:
            return out
        align(specs, known, self._arena, self._intakes)
        ports = {part for spec in specs for part in parts(spec) if isinstance(part, PortSpec)}
        read = [(spec, self._intakes[spec]) for spec in {port.base for port in ports} if spec in self._intakes]
        feeds = {spec: intake.remembered(self._clocks.of(spec)) for spec, intake in read}
        feeds |= {port.spec: Feed(Delta.empty(port.spec.layout.width), BEGINNING) for port in self._arrivals}
        feeds |= {port.spec: self._feed(port.spec) for port in self._times}
        filled = back_fill(
            specs, known, self._arena, self._interner, _named(ports, feeds),
            {**self._begins, **{present(time): instant for time, instant in self._clocks.presents().items()}},
            is_first_shard=self._shard == 0,
        )
        results, self._waiting, self._pasts = filled.results, filled.waiting, filled.pasts
        for spec in specs:
            if spec in self._views:
                self._begin(spec, results[spec], out)
                self._new |= {spec} if any(isinstance(p, PortSpec) and p.source is not None for p in parts(spec)) else set()
        for port in self._exchanges:
            if port.spec.source in results and port.spec.source not in known:
                sent = send(port, results[port.spec.source], self._shard, self._job.shards, self._interner)
                out.sent += [packet for packet in sent if packet.cargo is Cargo.DELTA]  # clocks come with the step
        return out

    def _begin(self, spec: Spec, feed: Feed, out: Outcome) -> None:
        """A view that is new shows what it would have given so far."""
        view = self._views[spec]
        due = view.due(feed, self._clocks.final_before(view.view.time))
        if view.is_holding:
            self._holding[spec] = None
        out.changes.append((view, self._first(view, due)))

    def _from_here(self, spec: Spec, known: Set[Spec]) -> FromHere | None:
        """How a view begins with what a running operator has, if it can."""
        ports = [part for part in parts(spec) if isinstance(part, PortSpec)]
        if len(ports) != 1 or ports[0].base not in self._intakes or spec not in self._views:
            return None
        clock = self._clocks.of(ports[0].base)
        if clock <= BEGINNING or clock != self._clocks.final_before(self._views[spec].view.time):
            return None
        return FromHere.of(spec, clock, known, self._graph)

    def forget(self) -> None:
        """Forget at once what no window of a view holds, before somebody looks at what is remembered."""
        self._forget(self._intakes, at_once=True)

    def _forget(self, intakes: Mapping[PortSpec, Intake], *, at_once: bool = False) -> None:
        """Where much has come since somebody last looked, or at once."""
        grown = [(spec, intake) for spec, intake in intakes.items() if at_once or intake.has_grown]
        clock = self._clocks.least if grown and self._clocks.is_any_moving else FOREVER
        for spec, intake in grown:
            is_told = spec.is_table and not any(spec.timed_by)
            intake.forget(self._clocks.final_before(spec.timed_by) if is_told else clock)

    @property
    def event_time(self) -> int:
        """The greatest timestamp of all streams so far."""
        return self._clocks.event_time

    @property
    def now(self) -> int:
        """Where time is."""
        return self._clocks.now

    def now_of(self, spec: Spec) -> int:
        """Where the time of a view is."""
        return self._clocks.time(time_of(spec)).now

    def instants(self) -> dict[Time, Instants]:
        """Of every time that a view lives in: where it is, and what is final."""
        return self._clocks.instants()

    def together(self, times: Collection[Time], streams: Iterable[StreamSpec] = ()) -> Instants:
        """The same of several times as if a view lived in all of them; `streams` are those that are declared."""
        return self._clocks.together(times, streams)

    def final_before(self, spec: Spec) -> int:
        """All before it is final for a view."""
        return self._clocks.final_before(time_of(spec))

    def final_in(self, time: Time) -> int:
        """All before it is final for views that live in a time."""
        return self._clocks.final_before(time)

    @property
    def told(self) -> int:
        """How far those were told that time is who ask for it and read no stream."""
        return self._clocks.told

    def _intake(self, port: Port) -> Intake:
        assert port.stream is not None
        scope = self._arena.scope("ports").scope(port.spec.fingerprint)
        with self._interner.owned(f"ports/{port.spec.fingerprint}"):
            stream = self._job.stream(port.stream)
            return _kind_of_intake(port, stream)(
                port, stream, self._clocks[port.stream], scope, self._interner, remembers=self._job.remembers
            )

    def _take_rows(self, packets: Sequence[Packet]) -> Iterator[Packet]:
        """Splits in the order of their streams, where they have one: what is late depends on the splits before."""
        for packet in packets:
            if packet.cargo in (Cargo.LATE, Cargo.DEAD):
                yield Packet(OUTSIDE, self._shard, packet.cargo, packet.name, -1, packet.order, packet.body)
        self._clocks.resume({packet.name for packet in packets if packet.cargo is Cargo.SPLIT})
        changed = {packet.name for packet in packets if packet.cargo is Cargo.ROWS}
        changes = {spec: self._clocks.change_of(spec) for spec in self._intakes if spec.is_table and spec.stream in changed}
        by_order: dict[tuple[str, int], list[Packet]] = {}
        unread: dict[str, list[dict[str, Any]]] = {}
        for packet in packets:
            if packet.cargo in (Cargo.SPLIT, Cargo.ROWS) and packet.name in self._clocks.streams:
                order = packet.order if self._job.stream(packet.name).is_in_order else 0
                by_order.setdefault((packet.name, order), []).append(packet)
            elif packet.cargo is Cargo.SPLIT:
                unread.setdefault(packet.name, []).append(packet.told())
        for name, told in unread.items():
            self._clocks.unread_splits(name, told)
        for (name, _), group in sorted(by_order.items()):
            limits = self._clocks.take(name, [(packet.order, packet.told()) for packet in group if packet.cargo is Cargo.SPLIT])
            for packet in group:
                if packet.cargo is Cargo.ROWS:
                    yield from self._take_split(packet, limits, changes)

    def _take_split(self, packet: Packet, limits: Limits, changes: Mapping[PortSpec, int]) -> Iterator[Packet]:
        intake = self._by_number.get(packet.port)
        if intake is None:
            return  # its last reader has been dropped
        rows = packet.batch()
        below = limits.of(packet.order, rows)
        late = intake.take(rows, below, changes.get(intake.port.spec, BEGINNING))
        # A stream with several ports has every row several times; the first port speaks of it.
        if late.num_rows and packet.port == self._job.ports_of(packet.name)[0].number:
            yield Packet(OUTSIDE, self._shard, Cargo.LATE, packet.name, -1, packet.order, late)
            yield late_rows(packet.name, late.num_rows, *intake.late_example(rows, below))

    def _flushed(self, view: View, feed: Feed) -> Feed:
        """What EMIT EVERY holds back comes out at the end, stamped with the last instant."""
        operator = self._graph.operator(view.spec)
        if not isinstance(operator, Emit):
            return feed
        rest = operator.rest(feed.clock - 1)
        return feed._replace(delta=Delta.concatenate([feed.delta, rest], view.spec.layout.width))

    def _tell_the_end(self, is_end: bool) -> None:
        """Operators that wait for rows wait no longer when the last one has come."""
        self._is_end = is_end
        for operator in self._late_ones:
            operator.end = self._clocks.time(operator.time).end if is_end else None

    def _feeds(self, packets: Sequence[Packet]) -> dict[PortSpec, Feed]:
        feeds = {spec: self._feed(spec) for spec in [*self._intakes, *(port.spec for port in self._times)]}
        for port in self._arrivals:
            feeds[port.spec] = receive(port.spec, [p for p in packets if p.port == port.number], self._interner)
        return _named(self._ports, feeds)

    def _facts(self, packets: Sequence[Packet]) -> Packet:
        splits = [packet for packet in packets if packet.cargo is Cargo.SPLIT and packet.level == self._level]
        rows = sum(packet.facts()["rows"] or 0 for packet in splits)
        facts: dict[str, int | None] = {
            "level": self._level, "rows": rows, "clock": self._clocks.least, "state": self._arena.used,
            "failures": self.failures.total,
        }
        return Packet(OUTSIDE, self._shard, Cargo.FACTS, "", -1, self._shard, facts_body(facts))


def _kind_of_intake(port: Port, stream: StreamSpec) -> type[Intake]:
    if port.spec.stamped_by:
        return LatentIntake
    if stream.position is not None:
        return PlacedIntake
    return UnitIntake if stream.is_unit else Intake


def _named(ports: Iterable[PortSpec], feeds: Mapping[PortSpec, Feed]) -> dict[PortSpec, Feed]:
    """The feeds under the names of all ports that read them."""
    return {spec: feeds[spec.base] for spec in ports if spec.base in feeds}
