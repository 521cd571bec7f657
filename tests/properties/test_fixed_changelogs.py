"""Changelogs that stay as they are, to the last bit, whatever is rebuilt: a fingerprint of each, kept beside this file.

    python tests/properties/test_fixed_changelogs.py     writes them anew, where a change of what queries mean was wanted
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

import sash  # noqa: E402
from shapes import SHAPES, STREAMS, Shape, make_rows  # noqa: E402

KEPT = Path(__file__).with_suffix(".txt")
INPUTS = {"many rows": make_rows(21, 120), "other rows": make_rows(22, 60)}


def fingerprint(shape: Shape, rows: dict[str, list[tuple[object, ...]]]) -> str:
    db = sash.connect(history="all")
    db.execute(STREAMS + shape.sql)
    db.push("sellers", rows["sellers"])
    for start in range(0, max(map(len, rows.values())), 9):
        for name in ("bids", "asks", "quiet"):
            if part := rows[name][start : start + 9]:
                db.push(name, part)
    db.end()
    said = [tuple(row.values()) for row in db.changes(shape.name).to_pylist()]
    assert said, shape.name
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def lines(shape: Shape) -> list[str]:
    return [f"{fingerprint(shape, rows)}  {shape.name}, {name}" for name, rows in INPUTS.items()]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_changelog_is_what_it_was(shape: Shape) -> None:
    kept = set(KEPT.read_text(encoding="utf-8").splitlines())
    assert set(lines(shape)) <= kept


if __name__ == "__main__":
    KEPT.write_text("".join(f"{line}\n" for shape in SHAPES for line in lines(shape)), encoding="utf-8")
