"""Calls of the facade in the wrong order, and what must happen before everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_later_views import FILES, KEPT, NAMES, Connect, T, answer, connect, put, started

from sash.errors import SashError

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
