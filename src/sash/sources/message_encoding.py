"""What an encoding of messages is: how a message is written, and read, as the columns of a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.plan.streams import StreamSpec
from sash.sources.result import LONGEST_LINE, TextResult, Values, good_rows, letters_of

AT_ONCE = 2048  # messages that are objects of Python at one time, which take some ten times the memory
NO_VALUE = "the message has no value"


class Unusable(Exception):
    """Why messages are dead letters."""


@dataclass(frozen=True)
class Encoding:
    """How messages are read into the columns of a spec; a letter's row is the place of its message."""

    options: tuple[str, ...]  # that say how
    check: Callable[[StreamSpec], None]  # an error, if a stream cannot be read so
    read: Callable[[StreamSpec, pa.LargeBinaryArray], TextResult]
    is_text: bool = True  # else messages are shown as hexadecimal digits


@dataclass(frozen=True)
class Part:
    """Messages that were written alike: where they are among all, and the columns that they give."""

    places: Int64s
    columns: Sequence[Values]


def at_once(count: int) -> list[slice]:
    """Of so many messages, those that are read together."""
    return [slice(start, start + AT_ONCE) for start in range(0, count, AT_ONCE)]


def gathered(spec: StreamSpec, messages: Sequence[bytes | None], parts: Sequence[Part], reasons: Mapping[int, str]) -> TextResult:
    """The rows of all parts in the order of their messages; and dead letters: those with a reason, and rows with a bad value."""
    dead, batches, places = dict(reasons), [], []
    for part in parts:
        batch, wrong = good_rows(spec.schema, part.columns)
        dead.update({int(part.places[row]): why for row, why in wrong.items()})
        batches.append(batch)
        places.append(np.delete(part.places, list(wrong)))
    whole = pa.concat_batches([pa.RecordBatch.from_pylist([], schema=spec.schema.arrow), *batches])
    order = np.concatenate([np.empty(0, np.int64), *places])
    if len(batches) > 1:
        whole = whole.take(pa.array(np.argsort(order)))
    rows = sorted(dead)
    shown = [(row, hexadecimal(messages[row] or b"")) for row in rows]
    return TextResult(whole, letters_of({place: dead[row] for place, row in enumerate(rows)}, shown))


def hexadecimal(message: bytes) -> bytes:
    """What is no text, for people to see; of a very long one the beginning, as of a long line."""
    return f"0x{message[: LONGEST_LINE // 2 + 1].hex()}".encode() if message else b""
