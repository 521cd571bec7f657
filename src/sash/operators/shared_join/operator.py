"""The join of two streams by key for whoever wants it over some windows.

    one tap                       a join of its own                                        (`join/leaving.py`)
    several taps                  one log per side for all, one walk for all windows        (`together.py`)
    several, rows have copies     a join for every tap: each counts equal rows as one, which spares more than a common walk

It changes from one to another as taps come and go, and when copies turn out to be many; rows are moved, and nothing of it shows.

State:   by the way at hand: under "together", or under the fingerprints of its taps
Output:  none; those of its taps are signed
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sash.deltas import Delta, forever
from sash.operators.join.leaving import LeavingJoin
from sash.operators.join.operator import SLICE, in_slices
from sash.operators.many_outputs import ManyOutputs, Past
from sash.operators.operator import OperatorContext
from sash.operators.output_chunks import MOST
from sash.operators.shared_join.schedules import ONE_PASS
from sash.operators.shared_join.together import Readers, Together
from sash.operators.spec import Spec
from sash.schema import FOREVER
from sash.stores.arena import Scope

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec
    from sash.operators.shared_join.spec import SharedJoinSpec

TOGETHER = "together"  # the scope of the common logs

Given = list[tuple["LeavingJoinSpec", Delta]]


class Part(NamedTuple):
    """What taps give; the instant before which that is all of these, and the one before which all taps have given all: None where
    nothing follows.
    """

    given: Given
    until: int | None
    through: int | None


class SharedJoin(ManyOutputs["LeavingJoinSpec"]):
    """Opens taps, and runs them together or apart."""

    def __init__(self, spec: SharedJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._spec, self._context = spec, context
        self._taps: list[LeavingJoinSpec] = []
        self._new: list[LeavingJoinSpec] = []  # opened, and not run yet
        self._together: Together | None = None
        self._apart: dict[LeavingJoinSpec, LeavingJoin] = {}
        self._given: Given = []
        self._given_until: int | None = None
        self._schedule = ONE_PASS
        self._queries_of: Callable[[Spec], int] = lambda tap: 1
        self._awaited: Callable[[], Container[Spec]] = tuple
        self._parts: Iterator[Part] = iter(())

    @property
    def kept(self) -> int:
        self.begin()
        return self._together.kept if self._together is not None else sum(join.kept for join in self._apart.values())

    def due(self) -> int:
        self.begin()
        if self._together is not None:
            return self._together.due()
        return min((join.due() for join in self._apart.values()), default=FOREVER)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        self.begin()
        left, right = inputs
        run = self._run_alone if len(self._apart) == 1 else self._run_together if self._together is not None else self._run_apart
        self._parts = run(left, right, now)
        return self.go_on()

    def go_on(self) -> Delta:
        self._given, self._given_until, self.through = next(self._parts)
        if self.through is None:
            self._parts = iter(())  # what it refers to may go
        return self.nothing

    def given(self) -> Given:
        return self._given

    @property
    def given_until(self) -> int | None:
        return self._given_until

    def _run_together(self, left: Delta, right: Delta, now: int) -> Iterator[Part]:
        assert self._together is not None
        readers = Readers(self._queries, self._awaited_taps)
        for given, until, through in self._together.run(left, right, now, self._schedule, readers):
            part = [(self._taps[tap], delta) for tap, delta in given]
            if through is None:
                self.probes += self._together.walks
                self.most_waiting = max(self.most_waiting, self._together.most_waiting)
                self.most_held = max(self.most_held, self._together.most_held)
                if self._together.has_many_copies:
                    self._part()
            yield Part(part, until, through)

    def _queries(self, tap: int) -> int:
        return self._queries_of(self._taps[tap])

    def _awaited_taps(self) -> list[int]:
        awaited = self._awaited()
        return [number for number, tap in enumerate(self._taps) if tap in awaited] if awaited else []

    def schedule_taps(
        self, schedule: str, queries: Callable[[Spec], int], awaited: Callable[[], Container[Spec]]
    ) -> None:
        self._schedule, self._queries_of, self._awaited = schedule, queries, awaited

    def pause_at(self, reached: int | None) -> None:
        if self._together is not None:
            self._together.pause_at(reached)

    def _run_alone(self, left: Delta, right: Delta, now: int) -> Iterator[Part]:
        (tap,) = self._apart
        for delta, until in self._parts_of(tap, left, right, now):
            yield Part([(tap, delta)], until, until)

    def _run_apart(self, left: Delta, right: Delta, now: int) -> Iterator[Part]:
        """Slice by slice: a part ends where all joins have got to."""
        given: list[tuple[LeavingJoinSpec, Delta]] = []
        for left_part, right_part, stop in in_slices(left, right, now, SLICE):
            if sum(len(delta.ts) for _, delta in given) >= MOST:
                until = self._reached + 1
                yield Part(_joined(given), until, until)
                given = []
            for tap in self._taps:
                given += ((tap, delta) for delta, _ in self._parts_of(tap, left_part, right_part, stop))
        yield Part(_joined(given), None, None)

    def _parts_of(self, tap: LeavingJoinSpec, left: Delta, right: Delta, now: int) -> Iterator[tuple[Delta, int | None]]:
        """What the join of one tap alone makes of rows."""
        join, (left_window, right_window) = self._apart[tap], tap.windows
        before = join.probes
        rows = left.with_expiry(left.ts + left_window), right.with_expiry(right.ts + right_window)
        delta = join.run(rows, now, None)
        while join.through is not None:
            yield delta, join.through
            delta = join.go_on()
        self.probes += join.probes - before
        yield delta, None

    # Taps come and go.

    def open(self, tap: LeavingJoinSpec) -> None:
        self._new.append(tap)

    def close(self, tap: LeavingJoinSpec) -> None:
        self.begin()
        self._taps.remove(tap)
        if self._together is None:
            self._drop_apart(tap)
        elif len(self._taps) == 1:
            self._part()
        else:
            self._together.use(self._taps)

    def release(self) -> None:
        for name in (TOGETHER, *(tap.fingerprint for tap in self._taps)):
            self._context.interner.release(self._owner(name))

    def past(self) -> Past:
        self.begin()
        return Past(self._rows(), self._reached)

    def recall(self, past: Past) -> None:
        """Rows that are here are among them, as far as the windows of the new taps reach."""
        new, self._new = self._new, []
        reached = max(past.reached, self._reached)
        if self._together is None and any(join.is_merging for join in self._apart.values()):
            for tap in new:
                self._set_apart(tap, past.inputs, reached)
            self._taps += new
            return
        is_longer = [_longest(new, side) > _longest(self._taps, side) for side in (0, 1)]
        self._taps += new
        if self._together is None or any(is_longer):
            own = self._rows()
            self._join_up(tuple(past.inputs[side] if is_longer[side] else own[side] for side in (0, 1)), reached)
        else:
            self._together.go_on(reached)
            self._together.use(self._taps)

    def kept_by(self, tap: LeavingJoinSpec) -> int:
        self.begin()
        return self._apart[tap].kept if self._together is None else self._together.kept_by(self._taps.index(tap))

    # From one way to another.

    def begin(self) -> None:
        if not self._new:
            return
        if self._taps:
            self.recall(Past(self._rows(), self._reached))
            return
        self._taps, self._new = self._new, []
        is_apart = any(self._scope(tap.fingerprint).has("reached") for tap in self._taps) or len(self._taps) == 1
        if self._scope(TOGETHER).has("reached") or not is_apart:
            self._together = self._common()
            self._together.use(self._taps)
        else:
            for tap in self._taps:
                self._apart[tap] = self._own(tap)

    @property
    def _reached(self) -> int:
        return self._together.reached if self._together is not None else max(join.reached for join in self._apart.values())

    def _rows(self) -> tuple[Delta, ...]:
        """Of each side, as long as the longest window."""
        if self._together is not None:
            return self._together.rows(_longest(self._taps, 0), _longest(self._taps, 1))
        longest = [max(self._apart, key=lambda tap: tap.windows[side]) for side in (0, 1)]
        return tuple(_as_they_came(self._apart[tap].rows()[side], tap.windows[side]) for side, tap in enumerate(longest))

    def _join_up(self, inputs: tuple[Delta, ...], reached: int) -> None:
        """Begin common logs with these rows, in place of what there is."""
        for tap in list(self._apart):
            self._drop_apart(tap)
        self._drop(TOGETHER)
        self._together = self._common()
        self._together.fill(inputs, reached)
        self._together.use(self._taps)

    def _part(self) -> None:
        """Give every tap a join of its own."""
        assert self._together is not None
        rows, reached = self._rows(), self._together.reached
        self._together = None
        self._drop(TOGETHER)
        for tap in self._taps:
            self._set_apart(tap, rows, reached)

    def _set_apart(self, tap: LeavingJoinSpec, inputs: tuple[Delta, ...], reached: int) -> None:
        """A join of its own for a tap, with those of some rows that are in its windows."""
        rows = [delta.split(reached - size + 1)[1] for delta, size in zip(inputs, tap.windows, strict=True)]
        join = self._apart[tap] = self._own(tap)
        join.fill([delta.with_expiry(delta.ts + size) for delta, size in zip(rows, tap.windows, strict=True)], reached)

    def _common(self) -> Together:
        with self._context.interner.owned(self._owner(TOGETHER)):
            return Together(self._spec, self._scope(TOGETHER), self._context.interner)

    def _own(self, tap: LeavingJoinSpec) -> LeavingJoin:
        with self._context.interner.owned(self._owner(tap.fingerprint)):
            return LeavingJoin(tap, replace(self._context, scope=self._scope(tap.fingerprint)))

    def _drop_apart(self, tap: LeavingJoinSpec) -> None:
        del self._apart[tap]
        self._drop(tap.fingerprint)

    def _drop(self, name: str) -> None:
        self._context.interner.release(self._owner(name))
        self._scope(name).drop()

    def _scope(self, name: str) -> Scope:
        return self._context.scope.scope(name)

    def _owner(self, name: str) -> str:
        return f"{self._spec.fingerprint}/{name}"


def _joined(given: Given) -> Given:
    """One delta a tap."""
    found: dict[LeavingJoinSpec, list[Delta]] = {}
    for tap, delta in given:
        found.setdefault(tap, []).append(delta)
    return [(tap, Delta.concatenate(parts, tap.layout.width)) for tap, parts in found.items()]


def _longest(taps: Sequence[LeavingJoinSpec], side: int) -> int:
    return max(tap.windows[side] for tap in taps)


def _as_they_came(rows: Delta, window: int) -> Delta:
    """Rows whose expiry is known: they came so long before."""
    return Delta(rows.rows, rows.ts - window, forever(len(rows.ts)), rows.weight)
