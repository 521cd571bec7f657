"""A job that runs in this process: its shard, and what is kept of its views."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from sash.deltas import Delta
from sash.operators.spec import Spec
from sash.plan.times import Time
from sash.planner.job import Job, View
from sash.runtime.change_log import Reader
from sash.runtime.graph import Graph
from sash.runtime.history_limit import History
from sash.runtime.instants import Instants
from sash.runtime.kept import Kept, ShownView, UnreadChanges
from sash.runtime.live import Lanes, Shelf
from sash.runtime.metrics import Clockwork, JobMetrics
from sash.runtime.shard import Outcome, Shard
from sash.runtime.subscribing import Slow, Wishes
from sash.scalar.failures import Failures
from sash.stores.arena import Arena
from sash.stores.view_index import IndexShape


class Rest(NamedTuple):
    """Who else is there while a step is long: what lets them have a look in the middle of it, and the views they wait for."""

    take: Callable[[], None] = lambda: None
    awaited: Callable[[], Sequence[str]] = tuple


ALONE = Rest()


class KeepingHost:
    """Keeps what every step changes of the views."""

    def __init__(self, job: Job, arena: Arena | None, history: History, histories: Mapping[str, History], rest: Rest) -> None:
        self._rest, self._is_resting = rest, False
        self._arena = arena or Arena.anonymous()
        self.job = job
        self._history = history
        self._histories = dict(histories)  # of views that say how much is kept of them
        self._shard = Shard(job, 1, 0, self._arena, self._take_in_between)
        self._shard.graph.awaited = self._awaited
        self._kept: dict[Spec, Kept] = {}
        self._shelf = Shelf(self._shard.interner)
        self.views: dict[str, ShownView] = {}
        for view in job.views:
            self.views[view.name] = ShownView(view, self._kept.get(view.spec) or self._keep(view))
        self._by_name = {view.name: self._kept[view.spec] for view in job.first_views}
        self._waited_for: list[Kept] = []  # with subscribers for whom those who bring rows may have to wait
        self._begun = time.monotonic()  # when the step began
        self._changes = 0  # so far
        self._clockwork = Clockwork()
        self._job_metrics = JobMetrics()  # of the views, and of operators before the job last changed
        self._ahead_seen: dict[tuple[tuple[str, ...], int], dict[Spec, list[pa.RecordBatch]]] = {}  # since the last step
        self._ahead_lanes: dict[str, Lanes] = {}
        self._instants: dict[Time, Instants] | None = None
        self._instants_of: dict[tuple[str, ...], Instants] = {}  # of some views together
        self._finals: dict[Time, int] = {}  # of some times
        self._seen: tuple[dict[Any, Any], ...] = (self._finals, self._ahead_seen, self._ahead_lanes)

    def _keep(self, view: View) -> Kept:
        history = self._histories.get(view.name, self._history)
        kept = self._kept[view.spec] = Kept(view, self._shelf, history, self._shard.shown)
        return kept

    def keep_history(self, name: str, history: History) -> None:
        """So much of the past of a view is kept, and of those that are computed with it; before it is added, or later."""
        self._histories[name] = history
        if name in self.views:
            self.views[name].kept.changes.keep_more(history)

    def keep_indexes(self, shapes: Mapping[str, Iterable[IndexShape]]) -> None:
        """Have these indexes of views, by their names, and no others; views with one answer have their indexes together."""
        wanted: dict[Kept, list[IndexShape]] = {kept: [] for kept in self._kept.values()}
        for name, shown in self.views.items():
            wanted[shown.kept] += shapes.get(name, ())
        for kept, every in wanted.items():
            kept.keep_indexes(every)

    def _show_no_more(self, name: str) -> None:
        self._has_moved()
        gone = self.views.pop(name)
        heirs = [view for view in self.job.first_views if view.spec == gone.view.spec and view.name in self.views]
        self._by_name.pop(name, None)
        self._histories.pop(name, None)
        self._by_name |= {heir.name: gone.kept for heir in heirs}
        if not heirs:
            self._kept.pop(gone.view.spec).close()

    def _take_part(self, out: Outcome) -> None:
        self._has_moved()
        for view, net in out.changes:
            if len(net.ts):
                self._take_changes(view.view.name, net)

    def _take_changes(self, name: str, net: Delta) -> None:
        """Keep them."""
        ts = self._by_name[name].take(net).ts
        view = self._job_metrics.views.get(name) or self._job_metrics.view(name)
        count = len(ts)
        self._changes += count
        if view.is_looked_at(count):
            self._clockwork.tell_delays(view, ts, time.monotonic())

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

    def _has_moved(self) -> None:
        """What was seen ahead of the views is not so any more."""
        self._instants = None
        for seen in self._seen:
            if seen:
                seen.clear()

    def changes(self, name: str) -> list[pa.RecordBatch]:
        """The changes of a view that are final and still kept."""
        return self.views[name].kept.changes.kept()[0]

    def changes_since(self, name: str) -> int:
        """The instant from which on every change of a view is kept."""
        return self.views[name].kept.changes.kept_since

    def complete_since(self, name: str) -> int | None:
        """From when on a view is right for all rows that ever came; None: never."""
        return self.views[name].complete_since

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

    def _final_before(self, name: str) -> int:
        if self._is_resting:  # of a view whole instants came, and nothing was told of others
            return self.views[name].kept.changes.newest + 1
        time_ = self.views[name].view.time
        if time_ not in self._finals:
            self._finals[time_] = self._shard.clocks.final_before(time_)
        return self._finals[time_]

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

    @property
    def clocks(self) -> dict[str, int]:
        """Of every stream."""
        return self._shard.clocks.of_streams

    @property
    def graph(self) -> Graph:
        return self._shard.graph

    @property
    def failures(self) -> Failures:
        return self._shard.failures

    @property
    def state_bytes(self) -> int:
        """Of operators, ports and answers."""
        return self._arena.used + self._shelf.arena.used
