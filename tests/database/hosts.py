"""The same job on both hosts: in this process, and on Spark's host played without a JVM. Rows go in as each host takes them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sash

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))

from without_spark import connected

SECOND = 1_000_000
DECLARED = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts DELAY 10 SECONDS{source};
    CREATE STREAM quiet (ts TIMESTAMP, k STRING) TIMESTAMP BY ts{other};
    CREATE TABLE names (k STRING, name STRING);
    CREATE MATERIALIZED VIEW v AS SELECT k, SUM(n) AS n FROM s [RANGE 60 SECONDS] GROUP BY k;
    CREATE MATERIALIZED VIEW named AS SELECT s.k, name, n FROM s [RANGE 60 SECONDS] LEFT JOIN names ON s.k = names.k;
    CREATE VIEW plain AS SELECT * FROM v;
"""
MEETING = "CREATE MATERIALIZED VIEW meeting AS SELECT s.k, n FROM s [RANGE 60 SECONDS] JOIN quiet [RANGE 60 SECONDS] ON s.k = quiet.k;"
Row = tuple[int, str, int | None]  # seconds, a key, a number


class Played:
    """A database, and how its streams get rows."""

    def __init__(self, host: str, folder: Path, patch: pytest.MonkeyPatch, sql: str = "", **options: Any) -> None:
        self.host, self.folder = host, folder
        self._files = 0
        for stream in ("s", "quiet"):
            (folder / stream).mkdir(exist_ok=True)
        if host == "embedded":
            self.db: sash.Database = sash.connect(base=folder, **options)
            self.db.execute(DECLARED.format(source="", other="") + sql)
        else:
            source = " WITH (format = 'csv', path = '{}')"
            declared = DECLARED.format(source=source.format("s"), other=source.format("quiet")) + sql
            self.db = connected(patch, folder, declared, **options)
            self.db.start()

    def put(self, *rows: Row, stream: str = "s") -> None:
        """Rows of a stream, and their answer."""
        if self.host == "embedded":
            self.db.push(stream, list(rows))
            return
        self._files += 1
        lines = (",".join([_text(second), *("" if value is None else str(value) for value in rest)]) for second, *rest in rows)
        (self.folder / stream / f"{self._files:03}.csv").write_text("".join(f"{line}\n" for line in lines))
        self.db.drain()

    def settle(self) -> None:
        """On Spark, what was asked for comes with a batch."""
        self.db.drain()


def _text(second: int) -> str:
    return f"1970-01-01 00:{second // 60:02}:{second % 60:02}"


def as_set(rows: Sequence[dict[str, Any]] | sash.Rows) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in rows}
