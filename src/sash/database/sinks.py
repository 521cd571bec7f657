"""The sinks of a session: a runner for each, and what can be said of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from sash.errors import SashError, SinkWarning, warn
from sash.runtime.instants import moment
from sash.runtime.kept import UnreadChanges
from sash.schema import BEGINNING, END
from sash.sinks.options import Mode, SinkSpec
from sash.sinks.runner import Runner
from sash.sinks.sink import Feed, Sink, Taken
from sash.sql.catalog import SinkDefinition
from sash.turns import Turns

LAST_WORDS = 10.0  # seconds that a database which is closed gives its sinks
MOST_WAITING = 100_000  # changes that may wait for a sink which needs every one of them


class EmbeddedFeed:
    """Changes of a view in this process, from the answer on; `begin` gives it. Positions count what was taken together.

    What was taken stays here until the sink has it. A sink that is not where it was last seen, as its table was lost, gets the
    answer again.
    """

    def __init__(self, begin: Callable[[], UnreadChanges], turns: Turns) -> None:
        self._begin, self._turns = begin, turns
        self._unread, self._is_first = begin(), True
        self._after: int | None = None  # what comes next comes after this
        self._pending: Taken | None = None
        self._is_closed = False

    def take(self, after: int | None, timeout: float) -> Taken | None:
        with self._turns.last_turn():
            if self._pending is not None and after == self._pending.position:
                self._after, self._pending = after, None
            elif after != self._after and not self._is_closed:
                self._unread.close()
                self._unread, self._is_first, self._after, self._pending = self._begin(), True, after, None
            if self._pending is None:
                self._turns.wait_for(self._has_come, timeout)
            return self._pending

    def waiting(self, after: int | None) -> int:
        with self._turns.last_turn():
            pending = self._pending if self._pending is not None and self._pending.position != after else None
            return self._unread.waiting + (0 if pending is None else max(1, len(pending.changes)))

    def close(self) -> None:
        with self._turns.last_turn():
            self._is_closed = True
            self._unread.close()
            self._turns.notify()

    def is_read_by(self, reader: object) -> bool:
        """Whether this is who reads, of those whom a host waits for."""
        return self._unread.reader is reader

    def _has_come(self) -> bool:
        if self._is_closed:
            return True
        found = self._unread.take()
        if not found:
            return False
        changes = pa.Table.from_batches(found)
        is_anew = len(changes) > 0 and changes.column(0)[0].as_py() == 0  # it was too slow, and gets the answer
        self._turns.notify()  # somebody may have waited for it
        self._pending = Taken(
            self._after, (self._after or 0) + 1, changes.slice(1) if is_anew else changes, self._is_first or is_anew,
            self._unread.complete_before,
        )
        self._is_first = False
        return True


@dataclass(frozen=True)
class ActiveSink:
    definition: SinkDefinition
    spec: SinkSpec
    sink: Sink
    runner: Runner | None = None  # None: nothing runs yet
    feed: Feed | None = None


class Sinks:
    """By name."""

    def __init__(self) -> None:
        self.active: dict[str, ActiveSink] = {}
        self.lock = threading.RLock()  # held by who begins or ends some

    def check_place(self, sink: Sink) -> None:
        for other in self.active.values():
            if str(other.sink) == str(sink):
                raise SashError(f'sink "{other.definition.name}" writes there already', "name another table")

    def add(self, one: ActiveSink) -> None:
        with self.lock:
            self.active[one.definition.name.lower()] = one
        if one.runner is not None:
            one.runner.start()

    def drain(self, timeout: float | None = None) -> None:
        """Wait until all that is there now is written."""
        for runner in self.runners():
            runner.drain(timeout)

    def runners(self) -> list[Runner]:
        return [one.runner for one in list(self.active.values()) if one.runner is not None]

    def stop(self, *, wait: bool = True) -> None:
        """Write no more; who begins again makes other runners."""
        for runner in self.runners():
            runner.stop(wait=wait)

    def last_words(self) -> None:
        """Write what waits, if that can be done soon; what cannot is told of."""
        for runner in self.runners():
            if not runner.is_stopped:
                try:
                    runner.drain(LAST_WORDS)
                except SashError as error:
                    told = f"not everything was written before the database was closed: {error}"
                    warn(told, SinkWarning)

    def table(self) -> pa.Table:
        """What SHOW SINKS shows."""
        rows = [self._row(one) for one in self.active.values()]
        return pa.Table.from_pylist(rows, SHOWN)

    def _row(self, one: ActiveSink) -> Mapping[str, object]:
        spec, status = one.spec, None if one.runner is None else one.runner.status
        key = ", ".join(spec.key_names) if spec.mode is Mode.UPSERT else None
        row: dict[str, object] = {"name": spec.name, "view": spec.view, "target": str(one.sink), "mode": spec.mode.value}
        row["key"] = key
        if status is None or one.feed is None:
            return row | {"rows": 0, "failures": 0}
        before = status.complete_before
        return row | {
            "position": status.position, "rows": status.rows, "waiting": one.feed.waiting(status.position),
            "complete_before": None if before is None else moment(min(max(before, BEGINNING), END - 1)),
            "failures": status.failures, "error": None if status.error is None else str(status.error),
        }  # fmt: skip


SHOWN = pa.schema([
    ("name", pa.string()), ("view", pa.string()), ("target", pa.string()), ("mode", pa.string()), ("key", pa.string()),
    ("position", pa.int64()), ("complete_before", pa.timestamp("us")), ("rows", pa.int64()), ("waiting", pa.int64()),
    ("failures", pa.int64()), ("error", pa.string()),
])  # fmt: skip
