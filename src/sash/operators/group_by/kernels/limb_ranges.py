"""Which limbs the exact sums of doubles need for the rows of a step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.compiling import kernel
from sash.kernels.exact_sum import ABOVE_ALL_LIMBS, RANGE_BASE, RANGE_LENGTH, needed_limbs
from sash.operators.group_by.opcodes import FEED_BIT, FEED_DOUBLE, FEED_KIND, FEED_LANE, FEED_MASK, FEED_PART, FEED_POWER

Int64s = npt.NDArray[np.int64]


@kernel
def wanted_ranges(rows: Int64s, weight: Int64s, feeds: Int64s, ranges: Int64s, wanted: Int64s) -> bool:
    """Write the range that every sum of doubles needs with these rows; the answer is whether one is wider than now."""
    is_wider = False
    for feed in range(len(feeds)):
        if feeds[feed, FEED_KIND] != FEED_DOUBLE:
            continue
        part = feeds[feed, FEED_PART]
        lowest, length = ranges[part, RANGE_BASE], ranges[part, RANGE_LENGTH]
        if length == 0:
            lowest = ABOVE_ALL_LIMBS
        highest = lowest + length if length else 0
        lane, mask, bit = feeds[feed, FEED_LANE], feeds[feed, FEED_MASK], feeds[feed, FEED_BIT]
        lowest, highest = needed_limbs(rows, weight, lane, mask, bit, feeds[feed, FEED_POWER], lowest, highest)
        wanted[part, RANGE_BASE] = lowest if highest else 0
        wanted[part, RANGE_LENGTH] = highest - lowest if highest else 0
        is_wider |= wanted[part, RANGE_LENGTH] != length
    return is_wider
