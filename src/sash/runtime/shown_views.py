"""The views that a shard shows: what the steps of its graph made of them, as far as it is final in the time of each."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from sash.deltas import Delta
from sash.operators.spec import Spec
from sash.plan.times import Time
from sash.planner.job import View
from sash.runtime.clocks import Clocks
from sash.runtime.graph import Feed, Graph, Results
from sash.runtime.view_changes import ViewChanges, held_by
from sash.schema import BEGINNING
from sash.stores.arena import Arena
from sash.stores.interner import Interner

Changes = list[tuple[ViewChanges, Delta]]


class ShownViews:
    """The views of one shard, one of every spec."""

    def __init__(self, shard: int, arena: Arena, interner: Interner, clocks: Clocks) -> None:
        self._shard, self._arena, self._interner, self._clocks = shard, arena, interner, clocks
        self._views: dict[Spec, ViewChanges] = {}
        self._new: set[Spec] = set()  # those that begin with the next step
        self._holding: dict[Spec, None] = {}  # those that hold changes back

    def __contains__(self, spec: Spec) -> bool:
        return spec in self._views

    def __iter__(self) -> Iterator[Spec]:
        return iter(self._views)

    def __getitem__(self, spec: Spec) -> ViewChanges:
        return self._views[spec]

    @property
    def specs(self) -> Container[Spec]:
        """Of the views that are shown now; it stays what it is when others are."""
        return self._views

    def show(self, views: Iterable[View]) -> None:
        """These and no others. Those that go on stay as they are; there may be thousands of them, so nothing is asked of each
        but its name."""
        by_spec = {view.spec: view for view in views}
        for gone in self._views.keys() - by_spec.keys():
            self._interner.release(held_by(gone))
            self._arena.drop(f"{held_by(gone)}/")
        before, self._views = self._views, {}
        self._holding = {spec: None for spec in self._holding if spec in by_spec}
        for spec, view in by_spec.items():
            shown = before.get(spec)
            if shown is not None and shown.view.name == view.name:
                self._views[spec] = shown
            else:
                self._holding.pop(spec, None)
                self.show_too(view)

    def show_too(self, view: View) -> None:
        """One more; no other one is looked at."""
        shown = self._views[view.spec] = ViewChanges(view, self._shard, self._arena, self._interner)
        if shown.is_holding:
            self._holding[view.spec] = None

    def begin(self, spec: Spec, feed: Feed, *, is_whole: bool = True) -> tuple[ViewChanges, Delta]:
        """A view that is new shows what it would have given so far; it begins with the next step where that is not the whole."""
        view = self._views[spec]
        first = self._first(view, self._due(view, feed, self._clocks.final_before(view.view.time)))
        if not is_whole:
            self._new.add(spec)
        return view, first

    @property
    def are_all_begun(self) -> bool:
        return not self._new

    def changes(self, results: Results, ended: Graph | None = None) -> Changes:
        """What a step made of those that it changed, and of those that hold something back; at the end of the input also of
        those whose last operator, in this graph, waits for more."""
        changes: Changes = []
        holding = [spec for spec in self._holding if spec not in results] if self._holding else []
        finals: dict[Time, int] = {}
        for spec in [*results, *holding]:
            view = self._views.get(spec)
            if view is None:
                continue  # it is for others
            time = view.view.time
            if (final := finals.get(time)) is None:
                final = finals[time] = self._clocks.final_before(time)
            feed = results[spec]
            if not BEGINNING < feed.clock <= final or view.held is not None:
                feed = self._due(view, feed, final)
            if ended is not None:
                feed = _flushed(view.view, feed, ended)
            delta = feed.delta
            if spec in self._new:
                delta = self._first(view, feed) if len(delta.ts) else delta
            elif not delta.is_net:
                delta = view.net(delta)
            if len(delta.ts):
                changes.append((view, delta))
        if self._new:
            self._new.clear()
        return changes

    def changes_so_far(self, results: Mapping[Spec, Feed]) -> Changes:
        """What came of some views in the middle of a step: of each whole instants."""
        found = [(view, feed) for spec, feed in results.items() if (view := self._views.get(spec)) is not None]
        some = ((view, self._due(view, feed, self._clocks.final_before(view.view.time))) for view, feed in found)
        return [(view, view.net(due.delta)) for view, due in some if len(due.delta.ts)]

    def _due(self, view: ViewChanges, feed: Feed, final: int) -> Feed:
        due = view.due(feed, final)
        if due is not feed:
            self._holding[view.view.spec] = None
        return due

    def _first(self, view: ViewChanges, feed: Feed) -> Delta:
        return view.first(feed, self._clocks.time(view.view.time).now)


def _flushed(view: View, feed: Feed, graph: Graph) -> Feed:
    """What EMIT EVERY holds back comes out at the end, stamped with the last instant."""
    operator = graph.operator(view.spec)
    rest = None if operator is None else operator.rest(feed.clock - 1)
    if rest is None or not len(rest):
        return feed
    return feed._replace(delta=Delta.concatenate([feed.delta, rest], view.spec.layout.width))
