"""The embedded host: one shard in this process, no JVM.

It is what a shard on Spark runs, with one shard and one level. Rows become lanes and go straight to the ports of the shard; those
that need a closer look, changes of tables, and what time is told, are packets here too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from sash.deltas import Delta, Int64s
from sash.operators.spec import Spec
from sash.plan.statistics import Statistics
from sash.plan.streams import StreamSpec
from sash.plan.times import Time
from sash.planner.explain import Counts
from sash.planner.job import BETWEEN, Job, View
from sash.runtime.access import Read, Wanted
from sash.runtime.asking import Beside, Found, answer_in
from sash.runtime.change_log import Reader
from sash.runtime.entrance import Came, Entrance
from sash.runtime.graph import Graph
from sash.runtime.history_limit import DEFAULT, NONE, History
from sash.runtime.instants import Instants, check_kept
from sash.runtime.kept import Kept, ShownView, UnreadChanges
from sash.runtime.live import Lanes, Net, ReadRows, Relations, Shelf, Weighed
from sash.runtime.losses import LossWarnings, unreadable_rows
from sash.runtime.lost_rows import LostRows
from sash.runtime.metrics import Clockwork, JobMetrics, OperatorMetrics
from sash.runtime.observing import StreamObserver, counted, observed
from sash.runtime.packets import OUTSIDE, AsTheyAre, Cargo, Packet
from sash.runtime.packing import DEAD_SCHEMA, NO_DEAD, pack_split, part, to_everyone
from sash.runtime.progress import Progress
from sash.runtime.shard import Outcome, Shard
from sash.runtime.subscribing import Slow, Wishes
from sash.scalar.failures import Failures
from sash.schema import BEGINNING, SECOND
from sash.stores.arena import Arena
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape

Changes = dict[str, list[pa.RecordBatch]]

AS_THEY_ARE = AsTheyAre()
SWEPT_AFTER = 1 << 12  # questions

class Rest(NamedTuple):
    """Who else is there while a step is long: what lets them have a look in the middle of it, and the views they wait for."""

    take: Callable[[], None] = lambda: None
    awaited: Callable[[], Sequence[str]] = tuple


ALONE = Rest()
ENOUGH = 1000  # rows by which the share is judged that a filter lets through


class EmbeddedHost:
    """Runs a job in this process."""

    def __init__(
        self, job: Job, arena: Arena | None = None, history: History = DEFAULT,
        histories: Mapping[str, History] | None = None, rest: Rest = ALONE,
    ) -> None:
        self._rest, self._is_resting = rest, False
        self._arena = arena or Arena.anonymous()
        self.job = job
        self._history = history
        self._histories = dict(histories or {})  # of views that say how much is kept of them
        self._shard = Shard(job, 1, 0, self._arena, self._take_in_between)
        self._shard.graph.awaited = self._awaited
        self._orders: dict[str, int] = {}
        self._kept: dict[Spec, Kept] = {}
        self._shelf = Shelf(self._shard.interner)
        self.views: dict[str, ShownView] = {}
        for view in job.views:
            self.views[view.name] = ShownView(view, self._kept.get(view.spec) or self._keep(view))
        self._by_name = {view.name: self._kept[view.spec] for view in job.first_views}
        self.late: dict[str, LostRows] = {}
        self.dead: dict[str, LostRows] = {}
        self._started = self._stepped = time.monotonic()
        self._steps, self._rows, self._changes, self._last_step = 0, 0, 0, 0.0
        self._begun = self._started  # when the step began
        self._is_end = False  # whether nothing has come since the end of the input
        self._clockwork = Clockwork()
        self._warnings = LossWarnings()
        self._ahead_seen: dict[tuple[tuple[str, ...], int], dict[Spec, list[pa.RecordBatch]]] = {}  # since the last step
        self._ahead_lanes: dict[str, Lanes] = {}
        self._instants: dict[Time, Instants] | None = None
        self._instants_of: dict[tuple[str, ...], Instants] = {}  # of some views together
        self._finals: dict[Time, int] = {}  # of some times
        self._seen: tuple[dict[Any, Any], ...] = (self._finals, self._ahead_seen, self._ahead_lanes)
        self._asked = 0
        self._waited_for: list[Kept] = []  # with subscribers for whom those who bring rows may have to wait
        self._observers: dict[str, StreamObserver] = {}
        self._entrances: dict[str, Entrance] = {}
        self._job_metrics = JobMetrics()  # of the views, and of operators before the job last changed
        self._watch_streams()

    def _keep(self, view: View) -> Kept:
        history = self._histories.get(view.name, self._history)
        kept = self._kept[view.spec] = Kept(view, self._shelf, history, self._shard.shown)
        return kept

    def keep_history(self, name: str, history: History) -> None:
        """So much of the past of a view is kept, and of those that are computed with it; before it is added, or later."""
        self._histories[name] = history
        if name in self.views:
            self.views[name].kept.changes.keep_more(history)

    def _watch_streams(self) -> None:
        read = {stream.name for stream in self.job.streams}
        self._entrances = {name: entrance for name, entrance in self._entrances.items() if name in read}
        for stream in self.job.streams:
            self.late.setdefault(stream.name, LostRows(self._history))
            self.dead.setdefault(stream.name, LostRows(self._history))
            self._observers.setdefault(stream.name, StreamObserver(stream))
            if stream.name not in self._entrances or self._entrances[stream.name].spec != stream:
                self._entrances[stream.name] = Entrance(stream, self._shard.interner)

    def add(self, view: View, job: Job, tables: Mapping[str, pa.RecordBatch], replaces: str | None = None) -> None:
        """Run one more view, which is the last one of this job, perhaps in place of another; tables nobody has read so far have
        these rows."""
        seeds = list(self._seeds(job, tables))
        self.job = job
        self._watch_streams()
        if replaces is not None:
            self._show_no_more(replaces)
        if view.spec in self._kept:
            kept = self._kept[view.spec]
            twin = next(shown for shown in self.views.values() if shown.kept is kept)
            kept.changes.keep_more(self._histories.get(view.name, self._history))
            self.views[view.name] = ShownView(view, kept, twin.began, twin.complete_since)
            if replaces is not None:
                self._shard.take_up(job)
            return
        kept = self._by_name[view.name] = self._keep(view)
        out = self._shard.take_up(job, seeds)
        began = self._shard.now_of(view.spec)
        self.views[view.name] = ShownView(view, kept, began, self._shard.complete_since(view.spec))
        self._take_out(out)
        kept.changes.begin(min(began, self._shard.final_before(view.spec)))

    def drop(self, name: str, job: Job) -> None:
        """Run one view less; nothing stays behind of what only it needed."""
        self.job = job
        self._watch_streams()
        self._show_no_more(name)
        self._shard.take_up(job)

    def _show_no_more(self, name: str) -> None:
        self._has_moved()
        gone = self.views.pop(name)
        heirs = [view for view in self.job.first_views if view.spec == gone.view.spec and view.name in self.views]
        self._by_name.pop(name, None)
        self._histories.pop(name, None)
        self._by_name |= {heir.name: gone.kept for heir in heirs}
        if not heirs:
            self._kept.pop(gone.view.spec).close()

    def look_afresh(self) -> None:
        """From now on statistics are about rows that are still to come."""
        for name, one in self._observers.items():
            span = self._shard.clocks.span(name)
            if span is not None and not one.spec.is_table:
                self._observers[name] = StreamObserver(one.spec, span[1])

    def replan(self, view: View, streams: Iterable[StreamSpec]) -> bool:
        """Go on with other operators for a view. Where the rows in memory do not give its exact state, nothing is changed."""
        old, twin = self.views[view.name], replace(view, name=BETWEEN)
        is_alone = sum(shown.view.spec == old.view.spec for shown in self.views.values()) == 1
        if not is_alone or view.spec in self._kept or old.view.spec.is_held_back:
            return False
        both = self.job.with_view(twin, streams)
        self._has_moved()
        old.kept.settle()  # its operators may go
        filled = self._shard.take_up(both)
        is_exact = self._shard.is_complete(view.spec) and self._first_answer(filled, twin).equals(old.kept.answer())
        if is_exact:
            self.job = both.handed_over(view.name, twin.name, view.name)
            old.kept.spec = view.spec
            self._kept[view.spec] = self._kept.pop(old.view.spec)
            self.views[view.name] = replace(old, view=view)
        self._shard.take_up(self.job)
        return is_exact

    def _first_answer(self, filled: Outcome, view: View) -> pa.Table:
        """What a view that is new begins with."""
        first = Kept(view, self._shelf, NONE)
        for changes, net in filled.changes:
            if changes.view.name == view.name and len(net):
                first.take(net)
        answer = first.answer()
        first.close()
        return answer

    def take_unread(self, stream: StreamSpec, rows: pa.RecordBatch, arrival: int | None) -> None:
        """Rows came that no view reads; only how late it is is known of them."""
        ts = part(stream, rows, arrival).ts
        if ts is not None and len(ts):
            self._shard.clocks.unread(stream, int(ts.min()), int(ts.max()))

    def _seeds(self, job: Job, tables: Mapping[str, pa.RecordBatch]) -> Iterable[Packet]:
        """The rows of tables, for ports that do not have them."""
        new = {port.number for port in (job.new_ports(self.job) if job.remembers else job.ports)}
        for stream in job.streams:
            if stream.is_table and stream.name in tables:
                packets = pack_split(job, stream, 0, tables[stream.name], NO_DEAD, None, AS_THEY_ARE)
                yield from (packet for packet in packets if packet.port in new)

    def changes(self, name: str) -> list[pa.RecordBatch]:
        """The changes of a view that are final and still kept."""
        return self.views[name].kept.changes.kept()[0]

    def changes_since(self, name: str) -> int:
        """The instant from which on every change of a view is kept."""
        return self.views[name].kept.changes.kept_since

    def unread(self, name: str, wishes: Wishes) -> UnreadChanges:
        """For one who wants the changes of a view."""
        kept = self.views[name].kept
        if wishes.slow is Slow.BLOCK:
            self._waited_for.append(kept)
        return UnreadChanges(name, kept, self.views, partial(self._final_before, name), wishes)

    @property
    def has_readers_to_wait_for(self) -> bool:
        """Whether there may be a subscriber for whom those who bring rows are to wait."""
        return bool(self._waited_for)

    def blocking(self) -> Reader | None:
        """Such a one, that is behind."""
        shown = set(self._kept.values())
        self._waited_for = [kept for kept in self._waited_for if kept in shown]
        return next((found for kept in self._waited_for if (found := kept.changes.blocking()) is not None), None)

    def taken_rows(self) -> dict[str, Changes]:
        """All changes, late and dead rows since the last call; they are kept no longer."""
        changes = {kept: kept.changes.taken() for kept in self._kept.values()}
        return {
            "changes": {name: changes[shown.kept] for name, shown in self.views.items()},
            "late": {name: log.taken() for name, log in self.late.items()},
            "dead": {name: log.taken() for name, log in self.dead.items()},
        }

    def final(self, name: str) -> pa.Table:
        """The answer of a view as far as it is final."""
        return self.views[name].kept.answer()

    def answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The answer of a view over all rows taken in so far, and at which instant it is."""
        return self.view(name), self._shard.clocks.instants()[self.views[name].view.time]

    def final_answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The same, as far as it is final."""
        return self.final(name), self._shard.clocks.instants()[self.views[name].view.time]

    def complete_since(self, name: str) -> int | None:
        """From when on a view is right for all rows that ever came; None: never."""
        return self.views[name].complete_since

    def lost(self, stream: StreamSpec, cargo: Cargo) -> pa.Table:
        """The rows of a stream that were late, or the letters for those that could not be read: the newest, as far as kept."""
        logs, schema = (self.late, stream.schema.arrow) if cargo is Cargo.LATE else (self.dead, DEAD_SCHEMA)
        return pa.Table.from_batches(logs[stream.name].batches() if stream.name in logs else [], schema)

    @property
    def is_finished(self) -> bool:
        """Was the end of the input the last that came?"""
        return self._is_end

    @property
    def state_bytes(self) -> int:
        """Of operators, ports and answers."""
        return self._arena.used + self._shelf.arena.used

    @property
    def failures(self) -> Failures:
        return self._shard.failures

    @property
    def now(self) -> int:
        """No instant before this one is open any more."""
        return self._shard.clocks.now

    def now_of(self, name: str) -> int:
        """Where the time of a view is."""
        return self._shard.now_of(self.views[name].view.spec)

    @property
    def told(self) -> int:
        """How far those were told that time is who ask for it and read no stream."""
        return self._shard.clocks.told

    @property
    def event_time(self) -> int:
        """The greatest timestamp so far; BEGINNING while there was no row."""
        return self._shard.clocks.event_time

    def take(self, stream: str, rows: pa.RecordBatch, dead: pa.RecordBatch, arrival: int | None = None) -> None:
        """Rows of a stream, in their order; `arrival` stamps the first one where arrivals are stamped."""
        started = time.monotonic()
        self._shard.prepare()
        came = self._entrances[stream].read(rows, arrival, self._shard.clocks[stream].late_below)
        if came is None:
            self.step(self.packets(stream, rows, dead, arrival))
            return
        self._observers[stream].observe(rows)
        if dead.num_rows:
            self.dead[stream].append(dead)
            self._warnings.hear([unreadable_rows(stream, dead)], self.job.streams)
        self._take_lanes(stream, came, started)

    def lanes(self, stream: str, rows: object) -> Int64s | None:
        """Few rows of a stream as programs have them, for `take_lanes`, if it is plain what they are."""
        self._shard.prepare()
        return self._entrances[stream].lanes(rows)

    def take_lanes(self, stream: str, lanes: Int64s, arrival: int | None) -> None:
        """The same of rows that are lanes."""
        started, entrance = time.monotonic(), self._entrances[stream]
        came = entrance.with_times(lanes, arrival, self._shard.clocks[stream].late_below)
        if came is None:
            self.step(self.packets(stream, entrance.columns(lanes), NO_DEAD, arrival))
            return
        if self._observers[stream].counts(len(lanes)):
            self._observers[stream].look_at(entrance.columns(lanes))
        self._take_lanes(stream, came, started)

    def _take_lanes(self, stream: str, came: Came, started: float) -> None:
        self._rows, self._begun = self._rows + len(came.delta.ts), started
        out = self._shard.take(stream, came)
        self._clockwork.reached(came.greatest, started)
        self._take_out(out)

    def reads(self, stream: str) -> bool:
        """Whether a view reads a stream."""
        return stream in self._entrances

    def packets(self, stream: str, rows: pa.RecordBatch, dead: pa.RecordBatch, arrival: int | None) -> Iterable[Packet]:
        order = self._orders[stream] = self._orders.get(stream, 0) + 1
        self._observers[stream].observe(rows)
        return pack_split(self.job, self.job.stream(stream), order, rows, dead, arrival, AS_THEY_ARE)

    def advance(self, clock: int, stream: str = "", unread: Sequence[str] = ()) -> None:
        """No row before `clock` will come any more; `unread` are the streams that no view reads."""
        self.step(self._control({"advance": clock, "unread": list(unread)}, stream))

    def end(self, until: int | None = None, unread: Sequence[str] = ()) -> None:
        self.step(self._control({"end": 1, "until": until, "unread": list(unread)}))
        self._is_end = True

    def tell(self, now: int) -> None:
        """It is now this instant, for those who ask for the time and read no stream."""
        self.step(self._control({"tell": now}))

    def limit(self, until: int) -> None:
        """Nothing after this instant is to be shown."""
        self.step(self._control({"until": until}))

    @property
    def clocks(self) -> dict[str, int]:
        """Of every stream."""
        return self._shard.clocks.of_streams

    @property
    def graph(self) -> Graph:
        return self._shard.graph

    def reschedule(self, schedules: tuple[tuple[str, str], ...]) -> None:
        """Go on by other schedules."""
        self.job = replace(self.job, schedules=schedules)
        self._shard.reschedule(schedules)

    def step(self, packets: Iterable[Packet]) -> None:
        self._begun, came = time.monotonic(), list(packets)
        out = self._shard.work(came)
        self._rows += sum(packet.told()["rows"] for packet in came if packet.cargo is Cargo.SPLIT)
        self._clockwork.reached(self.now, self._begun)
        out.rows += [packet for packet in came if packet.level == OUTSIDE]
        self._take_out(out)

    def metrics(self) -> dict[str, Any]:
        """What operators, arcs and views have done so far, as plain data."""
        now = self._job_metrics.and_now(None, self._shard.metrics())
        figures = now.figures({view.name: view.spec for view in self.job.views})
        return figures | {"streams": {name: {"late": self.late[name].count, "dead": self.dead[name].count} for name in self.late}}

    def statistics(self) -> Statistics:
        """What is known of the streams and operators by now."""
        now = self._job_metrics.and_now(None, self._shard.metrics())
        return self._observed(now.operators(), self._shard.graph.early())

    def stream_statistics(self) -> Statistics:
        """What is known of the streams alone. To compare operators that run with others, all are to be estimated alike."""
        return self._observed((), {})

    def _observed(self, operators: Iterable[OperatorMetrics], early: Mapping[str, float]) -> Statistics:
        spans = {name: self._shard.clocks.span(name) for name in self._observers}
        begins = {name: one.since for name, one in self._observers.items()}
        seconds = {name: (span[1] - (begins[name] or span[0])) / SECOND for name, span in spans.items() if span is not None}
        return observed(self._observers.values(), seconds, operators, early, self.elapsed)

    def shares(self) -> dict[str, float]:
        """Of the rows that filters were given, how many they let through; of those that have seen enough."""
        now = self._job_metrics.and_now(None, self._shard.metrics())
        return {one.id: one.out.positive / one.arcs[0].positive for one in now.operators()
                if one.name == "Filter" and one.arcs[0].positive >= ENOUGH}  # fmt: skip

    @property
    def elapsed(self) -> float:
        """Seconds of the streams' time so far."""
        spans = [span for span in map(self._shard.clocks.span, self._observers) if span is not None]
        return (max(last for _, last in spans) - min(first for first, _ in spans)) / SECOND if spans else 0.0

    def counted(self) -> dict[str, Counts]:
        """What every operator has done, for every second of the streams' time."""
        now = self._job_metrics.and_now(None, self._shard.metrics())
        return counted(now.operators(), self._shard.graph.early(), self.elapsed)

    def _take_out(self, out: Outcome) -> None:
        self._take_part(out)
        for packet in out.rows:
            if packet.cargo is Cargo.LATE:
                self.late[packet.name].add(packet.batch(), self.event_time)
            elif packet.cargo is Cargo.DEAD:
                self.dead[packet.name].add(packet.batch(), self.event_time)
        if out.rows:
            self._warnings.hear(out.rows, self.job.streams)
        now = time.monotonic()
        self._steps += 1
        self._last_step, self._stepped, self._is_end = now - self._stepped, now, False

    def _take_in_between(self, out: Outcome) -> None:
        """In the middle of a step: others may look at what is there."""
        self._clockwork.reached(self.now, self._begun)
        self._take_part(out)
        self._is_resting = True
        try:
            self._rest.take()
        finally:
            self._is_resting = False
            self._has_moved()

    def _awaited(self) -> list[Spec]:
        return [self.views[name].view.spec for name in self._rest.awaited() if name in self.views]

    def is_through(self, name: str) -> bool:
        """Whether a step is in the middle, and has nothing more to change of a view."""
        return self._is_resting and name in self.views and self._shard.graph.is_through(self.views[name].view.spec)

    def _take_part(self, out: Outcome) -> None:
        self._has_moved()
        for view, net in out.changes:
            if len(net.ts):
                self._changes += self._take_changes(view.view.name, net)

    def _take_changes(self, name: str, net: Delta) -> int:
        """Keep them; how many they are."""
        ts, view = self._by_name[name].take(net).ts, self._job_metrics.view(name)
        count = len(ts)
        if view.is_looked_at(count):
            self._clockwork.tell_delays(view, ts, time.monotonic())
        return count

    @property
    def progress(self) -> Progress:
        """What has come and gone so far."""
        late, dead = (sum(log.count for log in logs.values()) for logs in (self.late, self.dead))
        return Progress(
            self._steps - 1, self._last_step, self._stepped - self._started, self._rows, self._changes, late, dead,
            self.event_time if self.event_time > BEGINNING else None, self._arena.used, self._is_end,
        )

    def view(self, name: str) -> pa.Table:
        """The answer over all rows taken in so far, final or not."""
        return self.answers([name])[0][name]

    def answers(self, names: Sequence[str]) -> tuple[dict[str, pa.Table], Instants]:
        """The same of several views at one instant: the latest of those where they are."""
        instants = self._together(names)
        return self._views_at(names, instants.now), instants

    def _views_at(self, names: Sequence[str], now: int) -> dict[str, pa.Table]:
        """At an instant that is no earlier than where any of them is."""
        ahead = self._ahead(tuple(names), now) if names else {}
        return {name: self.views[name].kept.answer(ahead.get(self.views[name].view.spec, [])) for name in names}

    def answers_at(self, names: Sequence[str], instant: int) -> tuple[dict[str, pa.Table], Instants]:
        """The same at an instant in the past: from changes that are kept, or, while it is open, from what is held."""
        found, together = {}, self._together(names)
        for name in names:
            shown = self.views[name]
            check_kept(name, instant, shown.kept.changes.kept_since, together.now)
            if instant < self._together([name]).final_before:
                found[name] = shown.kept.answer_at(instant)
            else:
                found[name] = shown.kept.answer(self._look((name,), instant).get(shown.view.spec, []))
        return found, replace(together, now=instant)

    def keep_indexes(self, shapes: Mapping[str, Iterable[IndexShape]]) -> None:
        """Have these indexes of views, by their names, and no others; views with one answer have their indexes together."""
        wanted: dict[Kept, list[IndexShape]] = {kept: [] for kept in self._kept.values()}
        for name, shown in self.views.items():
            wanted[shown.kept] += shapes.get(name, ())
        for kept, every in wanted.items():
            kept.keep_indexes(every)

    def select(self, name: str, wanted: Wanted) -> tuple[list[pa.Array], Instants]:
        """The columns of the rows of a view that are wanted, in no order, and at which instant."""
        self._tidy()
        instants = self._together([name])
        return self.views[name].kept.select(wanted, self._lanes_ahead(name, instants.now)), instants

    def at_one_instant(self, names: Sequence[str], ask: Callable[[ReadRows], Relations]) -> tuple[Relations, Instants]:
        """What is made of rows of some views, each row once with its weight, that are read one after the other."""
        self._tidy()
        instants = self._together(names)
        ahead = self._ahead(tuple(names), instants.now)

        def read(one: Read) -> Weighed:
            shown = self.views[one.view]
            return shown.kept.weighed(one.wanted, shown.kept.ahead(ahead.get(shown.view.spec, [])))

        return ask(read), instants

    def ranges(self, name: str, shape: IndexShape, indexes: Collection[IndexShape]) -> tuple[Ranges, Instants]:
        """How many rows of a view there are in the ranges of one of its indexes, and at which instant."""
        self._tidy()
        instants = self._together([name])
        return self.views[name].kept.ranges(shape, self._lanes_ahead(name, instants.now)), instants

    def _lanes_ahead(self, name: str, now: int) -> Lanes:
        if name not in self._ahead_lanes:
            more = self._ahead((name,), now)
            self._ahead_lanes[name] = self.views[name].kept.ahead(more.get(self.views[name].view.spec, []))
        return self._ahead_lanes[name]

    def _tidy(self) -> None:
        """Constants of questions become strings of the shard, and nobody holds them: now and then they are swept."""
        self._asked += 1
        if self._asked % SWEPT_AFTER == 0:
            self._shard.interner.sweep()
            self._ahead_lanes.clear()

    def _has_moved(self) -> None:
        """What was seen ahead of the views is not so any more."""
        self._instants = None
        for seen in self._seen:
            if seen:
                seen.clear()

    def ask(
        self, spec: Spec, streams: Sequence[StreamSpec], tables: Mapping[str, Net], names: Sequence[str], whole: Container[str]
    ) -> Found:
        """What a spec gives over live windows, tables, and views; all of them at one instant."""
        self._shard.forget()
        views = Beside(
            {time for name in names if any(time := self.views[name].view.time)}, bool(names) and self.has_begun(names),
            lambda now: {**tables, **self._views_at(names, now)},
        )
        fork = self._arena.fork()
        try:
            return answer_in(fork, self.job, spec, streams, views, whole)
        finally:
            fork.close()

    def _together(self, names: Sequence[str]) -> Instants:
        """As one view that reads all that they read. One that reads no stream has no time of its own: it goes by the others."""
        if self._instants is None:
            self._instants = self._shard.clocks.instants()
            self._instants_of.clear()
        if (found := self._instants_of.get(tuple(names))) is None:
            times = {self.views[name].view.time for name in names}
            times = {time for time in times if any(time)} or times
            found = self._instants[times.pop()] if len(times) == 1 else self._shard.clocks.together(times)
            self._instants_of[tuple(names)] = found
        return found

    def _final_before(self, name: str) -> int:
        if self._is_resting:  # of a view whole instants came, and nothing was told of others
            return self.views[name].kept.changes.newest + 1
        time_ = self.views[name].view.time
        if time_ not in self._finals:
            self._finals[time_] = self._shard.clocks.final_before(time_)
        return self._finals[time_]

    def has_begun(self, names: Sequence[str], at: int | None = None) -> bool:
        """Whether a stream that one of these views reads has had a row, up to an instant; also if none reads any."""
        streams = {stream for name in names for stream in self.views[name].view.time if stream}
        spans = [span for stream in streams if (span := self._shard.clocks.span(stream)) is not None]
        return not streams or any(at is None or first <= at for first, _ in spans)

    def _ahead(self, names: tuple[str, ...], at: int) -> dict[Spec, list[pa.RecordBatch]]:
        """What is held is played through, up to an instant, in a fork of the state: what it changes. It is known until
        the next step."""
        if (names, at) not in self._ahead_seen:
            self._ahead_seen[names, at] = self._look(names, at)
        return self._ahead_seen[names, at]

    def _look(self, names: tuple[str, ...], at: int) -> dict[Spec, list[pa.RecordBatch]]:
        if self._is_resting:
            with self._shard.graph.as_if_between_steps(self.views[name].view.spec for name in names):
                fork = self._arena.fork()
        else:
            fork = self._arena.fork()
        shard = Shard(replace(self.job.only(*names), remembers=False), 1, 0, fork)
        ahead = shard.work(list(self._control({"look": 1, "at": at})))
        more = {view.view.spec: [view.whole(net)] for view, net in ahead.changes if len(net)}
        fork.close()
        return more

    def _control(self, facts: dict[str, Any], stream: str = "") -> Iterable[Packet]:
        return to_everyone(self.job, Cargo.CONTROL, stream, 0, facts)
