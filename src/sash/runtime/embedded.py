"""The embedded host: one shard in this process, no JVM.

It is what a shard on Spark runs, with one shard and one level. Each of its files knows one thing more: what is kept of views, how
rows come in, how views are read, and (here) how views come and go, and what is known of their streams and operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash.deltas import Delta
from sash.operators.spec import Spec
from sash.plan.statistics import Statistics
from sash.plan.streams import StreamSpec
from sash.planner.explain import Counts
from sash.planner.job import BETWEEN, Job, View
from sash.runtime.history_limit import DEFAULT, NONE, History
from sash.runtime.keeping_host import ALONE, Rest
from sash.runtime.kept import Kept, ShownView
from sash.runtime.metrics import OperatorMetrics
from sash.runtime.observing import StreamObserver, counted, observed, shares_let_through
from sash.runtime.packets import Packet
from sash.runtime.packing import NO_DEAD, pack_split
from sash.runtime.readable_host import ReadableHost
from sash.runtime.taking_host import AS_THEY_ARE
from sash.schema import SECOND
from sash.stores.arena import Arena


class EmbeddedHost(ReadableHost):
    """Runs a job in this process."""

    def __init__(
        self, job: Job, arena: Arena | None = None, history: History = DEFAULT,
        histories: Mapping[str, History] | None = None, rest: Rest = ALONE,
    ) -> None:
        super().__init__(job, arena, history, histories or {}, rest)

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

    def _seeds(self, job: Job, tables: Mapping[str, pa.RecordBatch]) -> Iterable[Packet]:
        """The rows of tables, for ports that do not have them."""
        new = {port.number for port in (job.new_ports(self.job) if job.remembers else job.ports)}
        for stream in job.streams:
            if stream.is_table and stream.name in tables:
                packets = pack_split(job, stream, 0, tables[stream.name], NO_DEAD, None, AS_THEY_ARE)
                yield from (packet for packet in packets if packet.port in new)

    def drop(self, name: str, job: Job) -> None:
        """Run one view less; nothing stays behind of what only it needed."""
        self.job = job
        self._watch_streams()
        self._show_no_more(name)
        self._shard.take_up(job)

    def replan(self, views: Iterable[View], streams: Collection[StreamSpec]) -> set[str]:
        """Go on with other operators for some views. Those whose exact state the rows in memory give; others stay as they are."""
        both, tried = self.job, dict[Spec, View]()
        readers = Counter(shown.view.spec for shown in self.views.values())
        for view in views:
            old = self.views[view.name].view.spec
            is_new = view.spec not in self._kept and view.spec not in tried
            if is_new and readers[old] == 1 and not old.is_held_back:
                tried[view.spec] = view
                both = both.with_view(replace(view, name=BETWEEN + view.name), streams)
        if not tried:
            return set()
        self._has_moved()
        for view in tried.values():
            self.views[view.name].kept.settle()  # its operators may go
        first: dict[Spec, list[Delta]] = {}
        for changes, net in self._shard.take_up(both).changes:
            first.setdefault(changes.view.spec, []).append(net)
        exact = {view.name for view in tried.values() if self._is_exact(view, first.get(view.spec, []))}
        self.job = both.settled(exact)
        for view in tried.values():
            if view.name in exact:
                was = self.views[view.name]
                was.kept.spec, self._kept[view.spec] = view.spec, self._kept.pop(was.view.spec)
                self.views[view.name] = replace(was, view=view)
        self._shard.take_up(self.job)
        return exact

    def _is_exact(self, view: View, begins_with: Iterable[Delta]) -> bool:
        """Whether other operators for a view, which begin so, hold what it has."""
        if not self._shard.is_complete(view.spec):
            return False
        first = Kept(view, self._shelf, NONE)
        for net in begins_with:
            if len(net):
                first.take(net)
        is_same: bool = first.answer().equals(self.views[view.name].kept.answer())
        first.close()
        return is_same

    def reschedule(self, schedules: tuple[tuple[str, str], ...]) -> None:
        """Go on by other schedules."""
        self.job = replace(self.job, schedules=schedules)
        self._shard.reschedule(schedules)

    def look_afresh(self) -> None:
        """From now on statistics are about rows that are still to come."""
        for name, one in self._observers.items():
            span = self._shard.clocks.span(name)
            if span is not None and not one.spec.is_table:
                self._observers[name] = StreamObserver(one.spec, span[1])

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
        """Of the rows that filters were given, how many they let through."""
        return shares_let_through(self._job_metrics.and_now(None, self._shard.metrics()).operators())

    @property
    def elapsed(self) -> float:
        """Seconds of the streams' time so far."""
        spans = [span for span in map(self._shard.clocks.span, self._observers) if span is not None]
        return (max(last for _, last in spans) - min(first for first, _ in spans)) / SECOND if spans else 0.0

    def counted(self) -> dict[str, Counts]:
        """What every operator has done, for every second of the streams' time."""
        now = self._job_metrics.and_now(None, self._shard.metrics())
        return counted(now.operators(), self._shard.graph.early(), self.elapsed)
