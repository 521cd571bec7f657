"""What a run could not use: rows that were late or unreadable, and expressions that failed. Told at its end, always."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.runtime.progress import Progress

SHOWN = 3  # reasons that are told, the most frequent first
# Reasons that differ only in the value, or in the place of a mistake, are one.
ALIKE = ((r'(?s)^(column ".*?": ).*( is not an? [^"]*)$', r"\1…\2"), (r" at character \d+$", ""), (r"^\d+ values", "… values"))

Failure = tuple[str, int, Any]  # the reason, how often, and an example


class Unreadable:
    """Dead letters, counted by their reasons; of every reason the first is remembered."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    def add(self, stream: str, letters: Iterable[pa.RecordBatch]) -> None:
        for batch in letters:
            kinds = batch.column("reason")
            for pattern, alike in ALIKE:
                kinds = pc.replace_substring_regex(kinds, pattern, alike)
            for found in pc.value_counts(kinds).to_pylist():
                kind = (stream, found["values"])
                self._counts[kind] += found["counts"]
                if kind not in self._examples:
                    self._examples[kind] = _example(batch, pc.index(kinds, found["values"]).as_py())

    def lines(self) -> Iterator[str]:
        for (stream, kind), count in self._counts.most_common(SHOWN):
            yield f'  {_times(count)} stream "{stream}": {self._examples[stream, kind]}'
        if len(self._counts) > SHOWN:
            yield f"  and for {len(self._counts) - SHOWN} other reasons"


def _example(batch: pa.RecordBatch, place: int) -> str:
    letter = batch.slice(place, 1).to_pylist()[0]
    where = f" (line {letter['row']} of {letter['file']})" if letter.get("file") else ""
    return f"{letter['reason']}{where}"


def _times(count: int) -> str:
    return f"{count:,} ×"


def counts(progress: Progress, failures: Sequence[Failure]) -> str:
    failed = sum(count for _, count, _ in failures)
    return f"{progress.late:,} late rows, {progress.dead:,} unreadable rows, {failed:,} failed rows"


def failure_lines(failures: Sequence[Failure]) -> Iterator[str]:
    """Why expressions gave NULL."""
    for reason, count, example in sorted(failures, key=lambda failure: -failure[1])[:SHOWN]:
        yield f"  {_times(count)} {reason}, for example for {example}"
    if len(failures) > SHOWN:
        yield f"  and for {len(failures) - SHOWN} other reasons"


def is_all_unreadable(progress: Progress) -> bool:
    return progress.dead > 0 and progress.rows == 0
