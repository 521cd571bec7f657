"""What the embedded host keeps of a view: its answer, and its changes as far as the history reaches.

    changes of a step, as lanes ─▶ log ─▶ added to the answer when it is asked for, or when they leave the log as lanes:
                                          read, dropped, or because strings are about to be forgotten

So a step costs nothing here but to keep what it made; most answers are asked for far less often than they change. Where the last
operator of a view remembers the rows that it shows, as a GROUP BY does, these are the answer, and no change is ever added up;
not before somebody asks for rows by a key, which needs an answer that can be looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Delta, Int64s
from sash.operators.spec import Spec
from sash.planner.job import View
from sash.runtime.access import Wanted
from sash.runtime.change_log import ChangeLog, instants
from sash.runtime.history_limit import History
from sash.runtime.lane_changes import ChangeWriter, LaneChanges
from sash.runtime.live import NO_LANES, Lanes, LiveView, Net, Shelf, Weighed
from sash.runtime.subscribing import Wishes, begun_with, not_kept
from sash.schema import BEGINNING
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape


class Kept:
    """Of one spec."""

    def __init__(
        self, view: View, shelf: Shelf, history: History, shown: Callable[[Spec], Lanes | None] | None = None
    ) -> None:
        """`shown` tells what the operator of a spec remembers of the answer."""
        self.spec, self._shown = view.spec, shown
        self._is_added: bool | None = None  # whether changes are added up here; None before the first of them
        self._writer = ChangeWriter(view.schema, view.spec.layout, shelf.interner)
        self._interner, self._owner = shelf.interner, shelf.place()
        with self._interner.owned(self._owner):
            self._interner.hold(self._let_go)  # before the answer is asked what it holds: it may grow here
        self._live = LiveView(view.schema, shelf, view.spec.key_columns)
        self.changes = ChangeLog(history, self._add_up)

    @property
    def schema(self) -> pa.Schema:
        """Of the changes."""
        return self._writer.schema

    def close(self) -> None:
        """Nobody will ask any more."""
        self._interner.release(self._owner)
        self._live.close()

    def take(self, net: Delta) -> Delta:
        """Changes of a step; given back one by one."""
        changes = LaneChanges.of(net, self._writer)
        if changes.num_rows:
            self.changes.append_lanes(changes)
        return changes.units

    def answer(self, more: Iterable[Net] = ()) -> pa.Table:
        """All changes added up; `more` are looked at, not kept."""
        self.changes.add_all()
        shown = None if self._is_added else self._remembered()
        return self._live.rows(more) if shown is None else self._live.rows_of(shown, more)

    def answer_at(self, instant: int) -> pa.Table:
        """As it was at an instant that is final, and since which all changes are kept."""
        return self.answer(undone(self.changes.kept()[0], instant))

    def ahead(self, more: Iterable[Net]) -> Lanes:
        """Changes that are looked at, for `select`; good until the next step."""
        return self._live.lanes(more)

    def keep_indexes(self, shapes: Iterable[IndexShape]) -> None:
        """Have these indexes of the answer, and no others."""
        wanted = list(shapes)
        if wanted:
            self.settle()
        self._live.keep_indexes(wanted)

    def select(self, wanted: Wanted, ahead: Lanes) -> list[pa.Array]:
        """The columns of the rows of the answer that are wanted, in no order."""
        self.settle()
        self.changes.add_all()
        return self._live.select(wanted, ahead)

    def weighed(self, wanted: Wanted, ahead: Lanes) -> Weighed:
        """The same, each with how often it is there."""
        self.settle()
        self.changes.add_all()
        return self._live.weighed(wanted, ahead)

    def ranges(self, shape: IndexShape, ahead: Lanes) -> Ranges:
        """How many rows of the answer there are in the ranges of an index."""
        self.settle()
        self.changes.add_all()
        return self._live.ranges(shape, ahead)

    def settle(self) -> None:
        """From now on the answer is here, whatever the operator remembers."""
        if not self._is_added:
            self.changes.add_all()
            shown = self._remembered()
            if shown is not None:
                self._live.add_lanes(*shown)
            self._is_added = True

    def _remembered(self) -> Lanes | None:
        return None if self._shown is None else self._shown(self.spec)

    def _add_up(self, units: Delta) -> None:
        if self._is_added is None:
            self._is_added = self._remembered() is None
        if self._is_added:
            self._live.add_lanes(units.rows, units.weight)

    def _let_go(self) -> tuple[Int64s, Int64s]:
        """Strings are about to be forgotten: of those in changes, all are written out, so that none is held."""
        if self._writer.has_strings:
            self.changes.write_columns()
        return NO_LANES


@dataclass(frozen=True)
class ShownView:
    """A view; one that joins others of its spec has all that they have."""

    view: View
    kept: Kept
    began: int = BEGINNING  # at this instant
    complete_since: int | None = BEGINNING  # None: it is right only for the rows in memory when it began, and later ones


class UnreadChanges:
    """What one subscriber has not read of a view; over when the view is gone or another has its name."""

    def __init__(
        self, name: str, kept: Kept, views: Mapping[str, ShownView], final_before: Callable[[], int], wishes: Wishes
    ) -> None:
        self._name, self._kept, self._views, self._final_before = name, kept, views, final_before
        if wishes.since is not None and wishes.since < kept.changes.kept_since:
            raise not_kept(name, wishes.since, kept.changes.kept_since)
        self.reader = kept.changes.reader(wishes.since, wishes.queue, wishes.slow)
        self._first = [begun_with(kept.answer(), final_before() - 1, kept.schema)] if wishes.snapshot else []
        self.complete_before = wishes.since if wishes.since is not None else BEGINNING if wishes.snapshot else final_before()

    def take(self) -> list[pa.RecordBatch]:
        found = self._kept.changes.read(self.reader)
        if self._first:
            found, self._first = [*self._first, *found], []
        if self.reader.has_missed:
            self.reader.has_missed = False
            found = [begun_with(self._kept.answer(), self._final_before() - 1, self._kept.schema, anew=True)]
        shown = self._views.get(self._name)
        if shown is not None and shown.kept is self._kept and (final := self._final_before()) > self.complete_before:
            self.complete_before = final
        return found

    def close(self) -> None:
        self._kept.changes.leave(self.reader)

    @property
    def waiting(self) -> int:
        """How many changes have not been taken; the answer that comes first counts as one at least."""
        return self._kept.changes.count - self.reader.position + sum(max(1, len(one)) for one in self._first)

    @property
    def nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self._kept.schema)

    @property
    def is_over(self) -> bool:
        shown = self._views.get(self._name)
        return shown is None or shown.kept is not self._kept


def undone(changes: Iterable[pa.RecordBatch], instant: int) -> list[Net]:
    """What takes back all changes after an instant: the columns of the view, then the weight."""
    found: list[Net] = []
    for batch in changes:
        later = batch.slice(int(np.searchsorted(instants(batch), instant, side="right")))
        if later.num_rows:
            weights = pc.negate(later.column(0).cast(pa.int64()))
            found.append(pa.RecordBatch.from_arrays([*later.columns[2:], weights], names=[*later.schema.names[2:], "_weight"]))
    return found
