"""Arenas as another process finds them."""

from __future__ import annotations

import os

from sash.stores.arena import Arena


def reopened(arena: Arena) -> Arena:
    """The same file; the one that had it open is gone."""
    twin = Arena(os.dup(arena._descriptor), dict(arena._entries))
    arena.close()
    return twin
