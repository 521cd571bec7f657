"""The frame of a message whose schema is registered: a byte 0, the number of the schema in four bytes, then the message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.scalar.arrays import Mask

HEAD = 5  # bytes
NO_FRAME = "the message has no number of a schema: it begins with {} and not with the byte 0 of a registry's"


@dataclass(frozen=True)
class Frames:
    """Of messages: which have one, and the number of the schema of each that has."""

    is_framed: Mask
    numbers: Int64s


def frames_of(messages: pa.LargeBinaryArray) -> Frames:
    count = len(messages)
    _, offsets_buffer, data_buffer = messages.buffers()
    if count == 0 or data_buffer is None:
        return Frames(np.zeros(count, np.bool_), np.zeros(count, np.int64))
    offsets = np.frombuffer(offsets_buffer, np.int64)[messages.offset : messages.offset + count + 1]
    data = np.frombuffer(data_buffer, np.uint8)
    is_framed = (np.diff(offsets) >= HEAD) & np.asarray(messages.is_valid())
    starts = offsets[:-1][is_framed]
    is_framed[np.flatnonzero(is_framed)[data[starts] != 0]] = False
    starts = offsets[:-1][is_framed]
    numbers = np.zeros(count, np.int64)
    for place in range(1, HEAD):
        numbers[is_framed] = numbers[is_framed] << 8 | data[starts + place]
    return Frames(is_framed, numbers)


def no_frame(message: bytes) -> str:
    """Why a message has none."""
    return "the message is too short for a registry's" if len(message) < HEAD else NO_FRAME.format(f"0x{message[0]:02x}")
