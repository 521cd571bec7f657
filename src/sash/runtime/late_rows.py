"""Late rows are told of: by whoever finds them, task or shard, with one example; to the user once for every stream.

They are in the stream's late output and counted in any case.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sash.errors import LateRowsWarning
from sash.plan.streams import StreamSpec
from sash.runtime.packets import OUTSIDE, Cargo, Packet, told_body
from sash.runtime.partitions import label

LATE_ROWS = "late rows"  # the name of what is told


def late_rows(stream: str, count: int, ts: int, clock: int, partition: str | None) -> Packet:
    """So many rows were late; one of them had this ts, below this clock, of its partition if it has one."""
    told = {"stream": stream, "count": count, "ts": ts, "clock": clock, "partition": partition}
    return Packet(OUTSIDE, 0, Cargo.FACTS, LATE_ROWS, -1, 0, told_body(told))


class LateWarnings:
    """Warns of the first late rows of every stream."""

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def hear(self, packets: Iterable[Packet], streams: Iterable[StreamSpec]) -> None:
        """What was told in one step or batch of a job with these streams."""
        notes: dict[str, list[dict[str, Any]]] = {}
        for packet in packets:
            if packet.cargo is Cargo.FACTS and packet.name == LATE_ROWS:
                told = packet.told()
                notes.setdefault(told["stream"], []).append(told)
        for stream in streams:
            if stream.name in notes and stream.name not in self._warned:
                self._warned.add(stream.name)
                example = min(notes[stream.name], key=lambda told: (told["ts"], told["clock"]))
                count = sum(told["count"] for told in notes[stream.name])
                warnings.warn(_message(stream, count, example), LateRowsWarning, stacklevel=2)


def _message(stream: StreamSpec, count: int, example: dict[str, Any]) -> str:
    rows, are = ("1 row", "is") if count == 1 else (f"{count} rows", "are")
    whose = "its clock" if example["partition"] is None else f"the clock of its partition {label(example['partition'])}"
    column = "ts" if stream.timestamp is None else stream.schema.names[stream.timestamp]
    return (
        f'{rows} of stream "{stream.name}" came too late and {are} in no answer, so far: one with {column} {_text(example["ts"])}'
        f" came when {whose} was at {_text(example['clock'])}; {_way_out(stream)}."
        f' late("{stream.name}") has them all, and there will be no other warning'
    )


def _way_out(stream: StreamSpec) -> str:
    delay = "declare the stream with a longer DELAY"
    if stream.is_unit:
        return f"{delay}, or, if its source has partitions, name them in stream(…, partition=…, position=…)"
    return delay


def _text(instant: int) -> str:
    return str(datetime(1970, 1, 1) + timedelta(microseconds=instant))
