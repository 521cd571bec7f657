"""All papers that can be run again."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.figure import Figure, Paper
from experiments.shared_joins.paper import PAPER as SHARED_JOINS
from experiments.window_indexes.paper import PAPER as WINDOW_INDEXES
from sash.errors import SashError

PAPERS = (SHARED_JOINS, WINDOW_INDEXES)


def choose(names: Sequence[str]) -> list[tuple[Paper, list[Figure]]]:
    """By the number of a paper, or of a figure: 001, 001/fig7. All without a name."""
    known = {paper.number for paper in PAPERS} | {f"{paper.number}/{one.number}" for paper in PAPERS for one in paper.figures}
    if unknown := [name for name in names if name not in known]:
        raise SashError(f"no experiment is called {unknown[0]}", f"there are: {', '.join(sorted(known))}")
    chosen = []
    for paper in PAPERS:
        wanted = [one for one in paper.figures if not names or {paper.number, f"{paper.number}/{one.number}"} & set(names)]
        if wanted:
            chosen.append((paper, wanted))
    return chosen
