"""Calls of the facade in the wrong order, and what must happen before everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from test_later_views import FILES, KEPT, NAMES, Connect, T, answer, connect, put, started
from without_spark import query_of

from sash.errors import SashError
from sash.folders.folder import Bytes, Folder

__all__ = ["connect"]  # a fixture


@pytest.mark.parametrize("lines", ["", "a,Ann\nb,Bob\n"], ids=["empty", "full"])
@pytest.mark.parametrize("is_changed", [False, True])
def test_tables_come_before_streams_and_changes_of_the_job(
    connect: Connect, tmp_path: Path, lines: str, is_changed: bool
) -> None:
    put(tmp_path, 1, 9)
    (tmp_path / "t.csv").write_text(lines)
    db = connect(f"{FILES}{T} WITH (format = 'csv', path = 't.csv');{NAMES}{'' if is_changed else KEPT}")
    assert not answer(db, "names")
    if is_changed:
        db.execute(KEPT)
    started(db)
    assert sum(answer(db, "names").values()) == (4 if lines else 0)
    assert len(answer(db, "kept")) == 4


def test_a_job_may_begin_before_its_first_row(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    db = started(connect(FILES + KEPT))
    assert not answer(db, "kept")
    put(tmp_path, 1, 9)
    db.drain()
    assert len(answer(db, "kept")) == 4


def test_calls_in_the_wrong_order(connect: Connect, tmp_path: Path) -> None:
    put(tmp_path, 1, 9)
    db = connect(FILES + KEPT)
    with pytest.raises(SashError, match=r"does not run.*start\(\) first"):
        db.drain()
    started(db)
    for again in (db.start, db.run):
        with pytest.raises(SashError, match=r"the job runs already; call stop\(\)"):
            again()
    put(tmp_path, 9, 12)
    db.drain()
    assert "'n': 3" in str(answer(db, "kept"))
    db.close()
    for use in (db.start, db.drain, lambda: db.view("kept"), lambda: db.execute("DROP VIEW kept")):
        with pytest.raises(SashError, match="the database is closed"):
            use()
    db.close()


def test_a_batch_that_was_taken_but_not_committed_is_not_added_twice(connect: Connect, tmp_path: Path) -> None:
    """Stopped, or ended by a worker that died, after the driver had its answers: the same host goes on, and runs it again."""
    put(tmp_path, 1, 9)
    db = started(connect(FILES + KEPT))
    query, create = query_of(db), Folder.create

    def fails(self: Folder, name: str, parts: Iterable[Bytes]) -> bool:
        if self.place.endswith("commits"):
            raise KeyboardInterrupt
        return create(self, name, parts)

    put(tmp_path, 9, 12)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Folder, "create", fails)
        query.processAllAvailable()
    db.stop()
    started(db)
    shown, final = answer(db, "kept"), db._running().final("kept")
    db.stop()
    expected = started(connect(FILES + KEPT))
    assert shown == answer(expected, "kept") != Counter()
    assert final.equals(expected._running().final("kept"))
