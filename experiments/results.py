"""Runs that are kept, so that an experiment that was interrupted goes on where it was.

A line of JSON for every run, written when all systems of its setting and turn are through: ratios are of one run, or of none.
What was measured by other sources than those of today, or in the other size, is not taken.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

from experiments.tables import Measured


def fingerprint(modules: Sequence[ModuleType]) -> str:
    """Of what their sources say, not of how they are written."""
    trees = [ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")) for module in modules]
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                node.body = node.body[1:]
    return hashlib.sha256("\n".join(map(ast.dump, trees)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Results:
    """The runs of a paper in one size."""

    path: Path
    sources: str

    def kept(self) -> Iterator[Measured]:
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                sources, run = _read(line)
                if run is not None and sources == self.sources:
                    yield run

    def keep(self, runs: Sequence[Measured]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write("".join(json.dumps({"sources": self.sources, **asdict(run)}) + "\n" for run in runs))

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


def _read(line: str) -> tuple[str, Measured | None]:
    """Nothing where a run was cut off while it was written."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        return "", None
    return found["sources"], Measured(found["setting"], found["system"], found["turn"], found["values"])
