"""Statements that people wrote: those of `tests/slt`, and of the cases of other systems where they are there."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
CASES = TESTS.parents[1] / "shared" / "cases"  # beside the project, if at all
_BLOCK = re.compile(r"^(view \w+|statement|error view|error statement)\n(.*?)(?:\n----|\n\n|\Z)", re.MULTILINE | re.DOTALL)


@lru_cache(maxsize=1)
def texts() -> tuple[str, ...]:
    found = [_statement(head, body) for path in sorted((TESTS / "slt").rglob("*.slt")) for head, body in _BLOCK.findall(path.read_text(encoding="utf-8"))]
    for path in sorted(CASES.glob("*.jsonl")) if CASES.is_dir() else ():
        found += [f"CREATE MATERIALIZED VIEW v AS {sql}" for sql in _queries(path)]
    return tuple(dict.fromkeys(found))


def _statement(head: str, body: str) -> str:
    lines = [line for line in body.splitlines() if not re.fullmatch(r"[\s^]*", line)]
    return ("CREATE MATERIALIZED VIEW v AS " if "view" in head else "") + "\n".join(lines)


def _queries(path: Path) -> list[str]:
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        found += [str(case[key]) for key in ("sql", "query", "select") if isinstance(case.get(key), str)]
    return found
