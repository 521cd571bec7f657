"""Strings that nobody holds are forgotten, by number and by bytes; those that somebody holds never are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Int64s
from sash.kernels import strings
from sash.stores.arena import Arena
from sash.stores.interner import SWEEP_BYTES, Interner
from shapes import EPOCH, SHAPES, STREAMS, make_rows

LONG = 1 << 20  # bytes of a long string


def played(expiry: str, *, is_swept: bool, monkeypatch: pytest.MonkeyPatch) -> EmbeddedDatabase:
    """Shapes in one job, over strings that are new every few seconds."""
    db = sash.connect(expiry=expiry, history="all")
    db.execute(STREAMS + "\n".join(shape.sql for shape in SHAPES[:: 1 if expiry == "auto" else 4]))
    rows, often = make_rows(5, 40), Interner.sweep
    with monkeypatch.context() as patched:
        if is_swept:
            patched.setattr(Interner, "has_grown", True)
        patched.setattr(Interner, "sweep", lambda self, **_: often(self, at_once=True) if is_swept else None)
        db.push("sellers", rows["sellers"])
        for n in range(0, 40, 2):
            for name in ("bids", "asks"):
                db.push(name, [tuple(renamed(value, n) for value in row) for row in rows[name][n : n + 2]])
        db.end()
    return db


def renamed(value: object, n: int) -> object:
    return f"{value} {n // 8}" if isinstance(value, str) and value else value


@pytest.mark.parametrize("expiry", ["auto", "negative", "time-message"])
def test_sweeping_at_every_step_changes_no_answer(expiry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    swept, kept = (played(expiry, is_swept=one, monkeypatch=monkeypatch) for one in (True, False))
    for name in swept.materialized():
        assert swept.changes(name) == kept.changes(name), name
    assert swept._running()._shard.interner.count < kept._running()._shard.interner.count


@pytest.mark.parametrize(
    "query",
    [
        "SELECT text FROM s [RANGE 2 SECONDS]",
        "SELECT a.text FROM s [RANGE 2 SECONDS] AS a JOIN s [RANGE 1 SECOND] AS b ON a.text = b.text",
        "SELECT DISTINCT text FROM s [RANGE 2 SECONDS]",
        "SELECT text FROM s [ROWS 2]",
        "SELECT MAX(text) AS text FROM s [RANGE 2 SECONDS]",
    ],
)
def test_strings_are_freed_by_bytes_not_only_by_count(query: str) -> None:
    """Thirty strings of 10 MB held 1.7 GB. Here they are of 1 MB, of which three are alive at a time, in state and answer."""
    db = sash.connect(history="none")
    db.execute(f"CREATE STREAM s (ts TIMESTAMP, text STRING) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS {query}")
    sizes = []
    for n in range(60):
        db.push("s", [(EPOCH + timedelta(seconds=n), f"{n}" + "x" * LONG)])
        sizes.append(db.state_bytes)
    assert max(sizes[30:]) <= max(sizes[:30]), "the state grows with the stream"
    assert max(sizes) < 40 * LONG
    host = db._running()
    assert host._arena.size + host._shelf.arena.size < 120 * LONG, "freed space is not used again"


def test_a_heap_that_is_mostly_empty_gives_its_space_back(tmp_path: Path) -> None:
    arena = Arena.open(tmp_path / "a.arena")
    interner, held = Interner(arena), list[Int64s]()
    interner.hold(lambda: (np.array(held, np.int64).reshape(-1, 1), np.zeros(1, np.int64)))
    held.append(interner.encode(pa.array(["kept"])))
    interner.encode(pa.array([f"{n}" + "x" * LONG for n in range(32)]))
    before = (tmp_path / "a.arena").stat().st_blocks
    interner.sweep()
    interner.sweep()  # what was left in one step is given back before the next
    assert interner.count == 1 and len(interner.heap) <= 4 * SWEEP_BYTES
    assert interner.decode(np.concatenate(held)).to_pylist() == ["kept"]
    assert (tmp_path / "a.arena").stat().st_blocks < before / 4
    again = interner.encode(pa.array([f"again {n}" + "y" * LONG for n in range(32)]))
    assert interner.decode(again[-1:]).to_pylist() == ["again 31" + "y" * LONG]
    assert int(interner._registers[strings.LIVE_CODES]) == 33
