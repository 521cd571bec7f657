"""How much the tests play. Every run plays a share, the same each time, of what the long form plays whole: `./run test --long`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

LONG = bool(os.environ.get("SASH_LONG_TESTS"))

Item = TypeVar("Item")


def share(items: Sequence[Item], part: int, parts: int) -> Sequence[Item]:
    """One of so many parts, all of which together are the whole; the long form has all of them every time."""
    return items if LONG else items[part % parts :: parts]


def count(some: int, whole: int) -> int:
    """How many seeds, examples or steps."""
    return whole if LONG else some
