"""Rows that are in no answer, late ones and unreadable ones, are told of: by whoever finds them, task or shard, with one
example; to the user once for every stream and kind.

They can be read (`late`, `dead`) and are counted in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from sash.errors import LateRowsWarning, UnreadableRowsWarning, warn
from sash.plan.streams import StreamSpec
from sash.runtime.packets import OUTSIDE, Cargo, Packet, told_body
from sash.runtime.partitions import label

LATE_ROWS, UNREADABLE_ROWS = "late rows", "unreadable rows"  # the names of what is told

Told = dict[str, Any]


def late_rows(stream: str, count: int, ts: int, clock: int, partition: str | None) -> Packet:
    """So many rows were late; one of them had this ts, below this clock, of its partition if it has one."""
    return _told(LATE_ROWS, {"stream": stream, "count": count, "ts": ts, "clock": clock, "partition": partition})


def unreadable_rows(stream: str, dead: pa.RecordBatch) -> Packet:
    """These could not be read; the first one is the example."""
    return _told(UNREADABLE_ROWS, {"stream": stream, "count": dead.num_rows, "reason": dead.column("reason")[0].as_py()})


def _told(name: str, told: Told) -> Packet:
    return Packet(OUTSIDE, 0, Cargo.FACTS, name, -1, 0, told_body(told))


class LossWarnings:
    """Warns of the first late and of the first unreadable rows of every stream."""

    def __init__(self) -> None:
        self._warned: set[tuple[str, str]] = set()

    def hear(self, packets: Iterable[Packet], streams: Iterable[StreamSpec]) -> None:
        """What was told in one step or batch of a job with these streams."""
        notes: dict[tuple[str, str], list[Told]] = {}
        for packet in packets:
            if packet.cargo is Cargo.FACTS and packet.name in _KINDS:
                told = packet.told()
                notes.setdefault((told["stream"], packet.name), []).append(told)
        if notes:
            for stream in streams:
                for kind in _KINDS:
                    if found := notes.get((stream.name, kind)):
                        self._warn(stream, kind, found)

    def _warn(self, stream: StreamSpec, kind: str, notes: list[Told]) -> None:
        if (stream.name, kind) in self._warned:
            return
        self._warned.add((stream.name, kind))
        category, message = _KINDS[kind]
        warn(message(stream, sum(told["count"] for told in notes), notes), category)


def _late_message(stream: StreamSpec, count: int, notes: list[Told]) -> str:
    example = min(notes, key=lambda told: (told["ts"], told["clock"]))
    rows, are = ("1 row", "is") if count == 1 else (f"{count} rows", "are")
    whose = "its clock" if example["partition"] is None else f"the clock of its partition {label(example['partition'])}"
    column = "ts" if stream.timestamp is None else stream.schema.names[stream.timestamp]
    return (
        f'{rows} of stream "{stream.name}" came too late and {are} in no answer, so far: one with {column} {_text(example["ts"])}'
        f" came when {whose} was at {_text(example['clock'])}; {_way_out(stream)}."
        f' late("{stream.name}") has them all, and there will be no other warning'
    )


def _unreadable_message(stream: StreamSpec, count: int, notes: list[Told]) -> str:
    rows, are = ("1 row", "is") if count == 1 else (f"{count} rows", "are")
    return (
        f'{rows} of stream "{stream.name}" could not be read and {are} in no answer, so far: {notes[0]["reason"]};'
        f" declare the stream as its rows are, or see that they come as it is declared."
        f' dead("{stream.name}") has them all, and there will be no other warning'
    )


def _way_out(stream: StreamSpec) -> str:
    delay = "declare the stream with a longer DELAY"
    if stream.is_unit:
        return f"{delay}, or, if its source has partitions, name them in stream(…, partition=…, position=…)"
    return delay


def _text(instant: int) -> str:
    return str(datetime(1970, 1, 1) + timedelta(microseconds=instant))


_KINDS: dict[str, tuple[type[UserWarning], Callable[[StreamSpec, int, list[Told]], str]]] = {
    LATE_ROWS: (LateRowsWarning, _late_message), UNREADABLE_ROWS: (UnreadableRowsWarning, _unreadable_message),
}
