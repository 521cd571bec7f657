"""What is no text, given where a name or SQL belongs, is refused by a clear error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sash

CALLS: dict[str, Callable[[sash.Database, Any], object]] = {
    "execute": lambda db, what: db.execute(what),
    "query": lambda db, what: db.query(what),
    "prepare": lambda db, what: db.prepare(what),
    "explain": lambda db, what: db.explain(what),
    "analyze": lambda db, what: db.analyze(what),
    "push": lambda db, what: db.push(what, [(1,)]),
    "view": lambda db, what: db.view(what),
    "final": lambda db, what: db.final(what),
    "changes": lambda db, what: db.changes(what),
    "subscribe": lambda db, what: db.subscribe(what),
    "complete_since": lambda db, what: db.complete_since(what),
    "late": lambda db, what: db.late(what),
    "dead": lambda db, what: db.dead(what),
    "schedule": lambda db, what: db.schedule(what),
    "register": lambda db, what: db.register(what, len, "BIGINT", ["STRING"]),
}


@pytest.mark.parametrize("what", [None, 5, b"v", ["v"], object(), Path("v")], ids=["None", "number", "bytes", "list", "object", "path"])
@pytest.mark.parametrize("call", CALLS)
def test_other_than_text(call: str, what: object) -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT k FROM s [ROWS 5]")
        with pytest.raises(sash.SashError, match=r"is needed as text, and .* is of the type "):
            CALLS[call](db, what)
        db.push("s", [(1, "a")])
        assert db.view("v").to_pylist() == [{"k": "a"}]


@pytest.mark.parametrize("folder", ["\ud800", "a\0b"])
def test_a_folder_that_no_system_can_name(folder: str, tmp_path: Path) -> None:
    with sash.connect() as db, pytest.raises(sash.SashError, match="cannot write"):
        db.write_answers(str(tmp_path / folder))
