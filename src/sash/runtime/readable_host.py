"""What a job in this process is asked for: its views, now and in the past, and questions over them and over live windows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from sash.bounds import at_work
from sash.operators.spec import Spec
from sash.plan.streams import StreamSpec
from sash.runtime.access import Read, Wanted
from sash.runtime.asking import Beside, Found, answer_in
from sash.runtime.instants import Instants, check_kept
from sash.runtime.live import Lanes, Net, ReadRows, Relations, Weighed
from sash.runtime.shard import Shard
from sash.runtime.taking_host import TakingHost
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape

SWEPT_AFTER = 1 << 12  # questions


class ReadableHost(TakingHost):
    """Answers who asks."""

    _asked = 0  # questions

    def view(self, name: str) -> pa.Table:
        """The answer over all rows taken in so far, final or not."""
        return self.answers([name])[0][name]

    def answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The answer of a view over all rows taken in so far, and at which instant it is."""
        return self.view(name), self._shard.clocks.instants()[self.views[name].view.time]

    def answers(self, names: Sequence[str]) -> tuple[dict[str, pa.Table], Instants]:
        """The same of several views at one instant: the latest of those where they are."""
        instants = self._together(names)
        return self._views_at(names, instants.now), instants

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

    def final(self, name: str) -> pa.Table:
        """The answer of a view as far as it is final."""
        return self.views[name].kept.answer()

    def final_answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The same, as far as it is final."""
        return self.final(name), self._shard.clocks.instants()[self.views[name].view.time]

    def has_begun(self, names: Sequence[str], at: int | None = None) -> bool:
        """Whether a stream that one of these views reads has had a row, up to an instant; also if none reads any."""
        streams = {stream for name in names for stream in self.views[name].view.time if stream}
        spans = [span for stream in streams if (span := self._shard.clocks.span(stream)) is not None]
        return not streams or any(at is None or first <= at for first, _ in spans)

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
            with at_work():
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

    def _views_at(self, names: Sequence[str], now: int) -> dict[str, pa.Table]:
        """At an instant that is no earlier than where any of them is."""
        ahead = self._ahead(tuple(names), now) if names else {}
        return {name: self.views[name].kept.answer(ahead.get(self.views[name].view.spec, [])) for name in names}

    def _ahead(self, names: tuple[str, ...], at: int) -> dict[Spec, list[pa.RecordBatch]]:
        """What is held is played through, up to an instant, in a fork of the state: what it changes. It is known until
        the next step."""
        if (names, at) not in self._ahead_seen:
            self._ahead_seen[names, at] = self._look(names, at)
        return self._ahead_seen[names, at]

    def _lanes_ahead(self, name: str, now: int) -> Lanes:
        if name not in self._ahead_lanes:
            more = self._ahead((name,), now)
            self._ahead_lanes[name] = self.views[name].kept.ahead(more.get(self.views[name].view.spec, []))
        return self._ahead_lanes[name]

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

    def _tidy(self) -> None:
        """Constants of questions become strings of the shard, and nobody holds them: now and then they are swept."""
        self._asked += 1
        if self._asked % SWEPT_AFTER == 0:
            self._shard.interner.sweep()
            self._ahead_lanes.clear()
