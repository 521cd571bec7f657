"""Memory that a step frees is kept for the next one.

Every step allocates the changes it makes, megabytes of them, and frees them again. The allocator of glibc gives such memory back
to the system at once, which then hands it out again page by page, each cleared: of the work of some steps that was almost half.
"""

from __future__ import annotations

import ctypes
from functools import cache

MEGABYTE = 1 << 20
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt
KEPT = 128 * MEGABYTE  # what is freed beyond this goes back to the system
LARGEST = 32 * MEGABYTE  # what is larger is mapped by itself, as ever; no more can be asked for


@cache
def keep_freed_memory() -> bool:
    """Whether this process does so from now on: there are other allocators, and they are left as they are."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(TRIM_THRESHOLD, KEPT)) and bool(mallopt(MMAP_THRESHOLD, LARGEST))
