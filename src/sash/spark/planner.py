"""The planner of batches: what the next one brings.

    tables, whole ─▶ streams, a budget a batch ─▶ … ─▶ all read: the end, if the input is bounded and is to be ended

The budget is shared between the streams in proportion to what each has left, so that they come to their ends
together and no shard holds the rows of one while it waits for the clock of another.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.planner.job import Job
from sash.schema import END
from sash.sources.options import compression
from sash.sources.splits import Place, Split, plan
from sash.spark.checkpoint import JOB, check_events, events_after
from sash.spark.epochs import check_epoch
from sash.spark.files import SeenFiles
from sash.spark.jobs import job_at
from sash.spark.offsets import Offset, is_stamped
from sash.spark.sealed import WAY_OUT
from sash.spark.settings import Settings

LEAST_SHARE = 1 << 20  # bytes of a stream in a batch
MOST_FILES = 256  # of a stream in a batch: every one is named in the offset; a table is read at once
UNPACKED = 6  # how much larger, about, a compressed file is inside
LOOK_EVERY = 0.2  # seconds between two looks for new files
WHOLE = 1 << 62


class Planner:
    """Makes offsets; its only memory is the list of files, which is on record."""

    def __init__(self, job: Job, settings: Settings) -> None:
        self._first_job = self.job = job
        self._settings = settings
        self._files: dict[str, SeenFiles] = {}
        self._is_bounded = False
        self._looked = 0.0
        self._is_checked = False
        self._fence = partial(check_epoch, settings.checkpoint, settings.epoch)
        self._use(job)

    def job_at(self, version: int) -> Job:
        return job_at(self._settings.checkpoint, version, self._first_job, None)

    def _use(self, job: Job) -> None:
        """Plan for this job from now on; files of streams that it reads for the first time are looked for."""
        self.job = job
        folder, base = self._settings.checkpoint.child("files"), Path(self._settings.base)
        for stream in job.streams:
            if is_file_stream(stream, self._settings.frames) and stream.name not in self._files:
                self._files[stream.name] = SeenFiles(folder, stream, base, self._fence)
                self._looked = 0.0

    def look_once(self) -> None:
        """Take the files that are there now for all there will be."""
        self._look()
        self._is_bounded = True

    def next(self, start: Offset) -> Offset:
        """The offset after the next batch; `start` itself when there is nothing to do."""
        following = start if start.is_end else self._next(start)
        if following is start:
            return start
        self._fence()
        listed = {name: seen.chain for name, seen in self._files.items()}
        return replace(following, listed=start.listed | listed)

    def _next(self, start: Offset) -> Offset:
        self._use(self.job_at(start.job))
        self._look_again()
        self._check(start)
        asked = tuple(events_after(self._settings.checkpoint, start.seen))
        # A version may be asked for twice: by a driver that slept, and by the one after it, which found it on record.
        changes = [place for place, event in enumerate(asked) if event.get(JOB, 0) > start.job]
        if changes[:1] == [0] and not self._plan_tables(start)[1]:
            return self._changed(start, asked[0])
        asked = asked[: changes[0]] if changes else asked
        places, splits = self._plan(start)
        is_end = any("end" in event for event in asked)
        offset = replace(
            start, batch=start.batch + 1, places=places, splits=tuple(splits), seen=start.seen + len(asked),
            events=self._limit(start) + tuple(event for event in asked if "end" not in event and JOB not in event),
            until=self._settings.until, is_end=is_end,
        )
        if splits:
            return self._stamped(offset)
        if self._is_bounded and self._settings.flush and not changes:  # what is asked for after the next job comes before the end
            return replace(offset, is_end=True)
        return offset if asked else start

    def _check(self, start: Offset) -> None:
        """What the offset speaks of is on record, as is seen once; what it is beyond need not be."""
        if not self._is_checked:
            check_events(self._settings.checkpoint, start.seen)
            for name, seen in self._files.items():
                if name in start.listed and not seen.begins_with(start.listed[name]):
                    raise SashError(
                        f'the checkpoint {self._settings.checkpoint.place} has lost the list of the files of stream "{name}",'
                        " and those that are there are not the ones that were read",
                        WAY_OUT,
                    )
            self._is_checked = True
        for name, place in start.places.items():
            if name in self._files:
                self._files[name].forget(place.file)  # what an offset on record is beyond, no plan will ask for

    def _changed(self, start: Offset, event: dict[str, Any]) -> Offset:
        """Views come and go between two batches of rows: theirs brings nothing else."""
        self._use(self.job_at(event[JOB]))
        return replace(
            start, batch=start.batch + 1, splits=(), seen=start.seen + 1, events=(event,), job=event[JOB]
        )

    def _limit(self, start: Offset) -> tuple[dict[str, Any], ...]:
        """Tell the shards when the instant after which nothing is to be shown is another than before."""
        if self._settings.until == start.until:
            return ()
        return ({"until": END if self._settings.until is None else self._settings.until},)

    def _look(self) -> None:
        for seen in self._files.values():
            seen.look()
        self._looked = time.monotonic()

    def _look_again(self) -> None:
        if not self._is_bounded and time.monotonic() - self._looked >= LOOK_EVERY:
            self._look()

    def _plan(self, start: Offset) -> tuple[dict[str, Place], list[Split]]:
        """Tables go first, in a batch of their own, before anything else that was asked for."""
        places, splits = self._plan_tables(start)
        if splits:
            return places, splits
        streams = [stream for stream in self.job.streams if stream.name in self._files and not stream.is_table]
        return self._take(start, streams, self._budgets(start, streams), self._settings.batch_rows)

    def _plan_tables(self, start: Offset) -> tuple[dict[str, Place], list[Split]]:
        tables = [stream for stream in self.job.streams if stream.name in self._files and stream.is_table]
        budgets = dict.fromkeys((stream.name for stream in tables), WHOLE)
        return self._take(start, tables if start.batch == 0 else [], budgets, None)

    def _take(
        self, start: Offset, streams: list[StreamSpec], budgets: dict[str, int], rows: int | None
    ) -> tuple[dict[str, Place], list[Split]]:
        places, splits = dict(start.places), []
        for stream in streams:
            seen, place = self._files[stream.name], places.get(stream.name, Place())
            first = place.file - seen.first
            files = seen.files if stream.is_table else seen.files[: first + MOST_FILES]
            found, after = plan(stream, files, replace(place, file=first), rows, budgets[stream.name])
            places[stream.name] = replace(after, file=after.file + seen.first)
            splits.extend(found)
        return places, splits

    def _budgets(self, start: Offset, streams: list[StreamSpec]) -> dict[str, int]:
        left = {stream.name: self._left(stream.name, start.places.get(stream.name, Place())) for stream in streams}
        total = max(1, sum(left.values()))
        return {name: max(LEAST_SHARE, self._settings.batch_bytes * size // total) for name, size in left.items()}

    def _left(self, name: str, place: Place) -> int:
        """About how many bytes of a stream are still to be read."""
        seen = self._files[name]
        files = seen.files[place.file - seen.first :]
        sizes = [file.size * (UNPACKED if compression(file.path) else 1) for file in files]
        if not sizes:
            return 0
        # A guess may be too low, and an offset into Parquet is in rows: the file being read counts for something.
        return sum(sizes[1:]) + max(sizes[0] - place.offset, sizes[0] // 8)

    def _stamped(self, offset: Offset) -> Offset:
        """Arrival times: those of the clock on the wall, but never given twice."""
        rows: dict[str, int] = {}
        for split in offset.splits:
            stream = self.job.stream(split.stream)
            if is_stamped(stream):
                rows[split.stream] = rows.get(split.stream, 0) + split.rows
        if not rows:
            return offset
        arrival = max(offset.free, time.time_ns() // 1000)
        return replace(offset, arrival=arrival, free=arrival + max(rows.values()))


def is_file_stream(stream: StreamSpec, frames: Collection[str]) -> bool:
    return stream.path is not None and stream.name not in frames
