"""The hash of whole columns, for sending rows to shards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.compiling import kernel
from sash.kernels.hashing import mix

Int64s = npt.NDArray[np.int64]


@kernel
def mix_column(states: Int64s, values: Int64s) -> None:
    for i in range(len(states)):
        states[i] = mix(states[i], values[i])


@kernel
def shards_of(states: Int64s, shards: int, out: npt.NDArray[np.int32]) -> None:
    for i in range(len(states)):
        out[i] = (states[i] & 0x7FFFFFFFFFFFFFFF) % shards
