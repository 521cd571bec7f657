"""What is remembered for later views is looked through now and then, also where a shard is built anew for every few rows."""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Layout, forever
from sash.schema import BIGINT, Field, Schema
from sash.stores.arena import Arena
from sash.stores.history import History
from sash.stores.interner import Interner

ROWS, WINDOW = 3, 60


def test_few_rows_a_batch_do_not_stay_for_ever() -> None:
    """As on Spark, where each batch builds the shard over its arena: the rows of a window grew with the batches, and snapshots too."""
    arena, layout = Arena.anonymous(), Layout(Schema((Field("k", BIGINT),)))
    kept, looks = [], 0
    for batch in range(2_000):
        history = History(layout, arena.scope("history"), Interner(arena))
        rows = np.zeros((ROWS, layout.width), np.int64)
        history.append(Delta(rows, np.full(ROWS, batch), forever(ROWS), np.ones(ROWS, np.int64)))
        if history.has_grown:
            looks += 1
            history.forget(batch - WINDOW, 0)
        kept.append(len(history))
    assert ROWS * WINDOW <= max(kept) < 2 * ROWS * WINDOW
    assert looks < 2_000 * ROWS / 64


def test_a_window_that_moves_on_does_not_ask_for_more_room() -> None:
    """Where rows had left in front of a window of five eighths of the room, the room was doubled all the same."""
    arena, layout = Arena.anonymous(), Layout(Schema((Field("k", BIGINT),)))
    history, piece, window = History(layout, arena.scope("history"), Interner(arena)), 100, 5_000
    for first in range(0, 20 * window, piece):
        rows, ts = np.zeros((piece, layout.width), np.int64), np.arange(first, first + piece)
        rows[:, 0] = ts
        history.append(Delta(rows, ts, forever(piece), np.ones(piece, np.int64)))
        if history.has_grown:
            history.forget(first + piece - window, 0)
        known = history.delta()
        assert known.ts.tolist() == known.rows[:, 0].tolist() == [*range(first + piece - len(known), first + piece)]
    assert len(arena.array("history/ts", (1,))) == 8_192
