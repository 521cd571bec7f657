"""How many Python functions a push calls: exact, where a time on a busy machine tells little.

    python -m benchmarks.calls           compare with what is kept in `push_calls.json`: fails if one is well above it
    python -m benchmarks.calls --keep    keep these instead

A small step costs what is called on its way and little else, so a number that has grown is a slower push. Versions of Python
differ by a few calls; a new layer between a push and its answer is more than that.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import click

from benchmarks.public import ONE_OF_MANY, Public, Workload, steps, strict_input

KEPT = Path(__file__).parent / "push_calls.json"
BOUND = 1.15
WINDOW = 1_000  # rows
FILLING = 250
PUSHES = 64  # some of which do what is done now and then


@dataclass(frozen=True)
class Case:
    """Views over one stream, and who reads them."""

    name: str
    workload: Workload
    reader: str
    rows: int = 1

    def calls(self) -> float:
        """Of a push, and of what its readers do to have its changes."""
        filling = WINDOW + 2 * FILLING
        input_ = strict_input(self.workload, filling + 2 * PUSHES * self.rows)
        runner = Public(self.workload, self.reader)
        for step in steps(input_, 0, filling, FILLING):
            runner.step(step)
        pushes = steps(input_, filling, len(input_.rows[0]), self.rows)
        for step in islice(pushes, PUSHES):
            runner.step(step)
        work = list(pushes)
        gc.disable()
        try:
            return sum(_calls_of(runner, step) for step in work) / len(work)
        finally:
            gc.enable()


def _calls_of(runner: Public, step: Any) -> int:
    count = -1  # this one

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        runner.step(step)
    finally:
        sys.setprofile(before)
    return count


SMALL = replace(ONE_OF_MANY, window=WINDOW)
CASES = (
    Case("one view, nobody reads", SMALL.copies(1), "nobody"),
    Case("one view, a subscription reads", SMALL.copies(1), "subscription"),
    Case("one view, 1,000 rows, a subscription reads", SMALL.copies(1), "subscription", 1_000),
    Case("100 views, every row changes one, nobody reads", SMALL.parts(100), "nobody"),
    Case("100 views, every row changes one, subscriptions read", SMALL.parts(100), "subscription"),
    Case("100 views, every row changes all, nobody reads", SMALL.copies(100), "nobody"),
    Case("100 views, every row changes all, subscriptions read", SMALL.copies(100), "subscription"),
)


def risen(found: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """What is well above what was kept."""
    return [
        f"{what}: {count:.0f} calls a push, {kept[what]:.0f} were kept"
        for what, count in found.items() if what in kept and count > BOUND * kept[what]
    ]


@click.command()
@click.option("--keep", is_flag=True, help="Keep these numbers in the repository.")
def main(keep: bool) -> None:
    """Count the calls of a push, and compare with those that are kept."""
    found = {case.name: round(case.calls(), 1) for case in CASES}
    for what, count in found.items():
        click.echo(f"{count:10,.1f}  {what}")
    if keep:
        KEPT.write_text(json.dumps(found, indent=1) + "\n")
        return
    worse = risen(found, json.loads(KEPT.read_text()))
    for line in worse:
        click.echo(line, err=True)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
