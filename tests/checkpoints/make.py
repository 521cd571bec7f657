"""Make the checkpoint that is kept of the format of today: python tests/checkpoints/make.py

Its job reads a table alone, so nothing in it tells where it was made. Until a format is released its checkpoint may be made anew.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "spark"))

JOB = """CREATE TABLE t (k STRING, v BIGINT) RETROACTIVE;
INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);
CREATE MATERIALIZED VIEW n AS SELECT k, COUNT(*) AS n FROM t GROUP BY k"""
LATER = "CREATE MATERIALIZED VIEW later AS SELECT k, SUM(v) AS total, MAX(v * 0.5D) AS half FROM t WHERE k <> 'c' GROUP BY k"
MORE = "INSERT INTO t VALUES ('b', 5), ('c', 7)"


def make(folder: Path) -> None:
    from without_spark import connected

    db = connected(pytest.MonkeyPatch(), folder, JOB, shards=1)
    db.start()
    db.advance("2024-01-01 00:00:01")
    db.drain()
    db.execute(LATER)
    db.execute(MORE)
    db.advance("2024-01-01 00:00:02")
    db.drain()
    db.close()


if __name__ == "__main__":
    from sash.spark.checkpoint import FORMAT

    target = HERE / f"format-{FORMAT}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    make(target)
