"""Ratios of `./run bench public` that are kept in the repository, so that a regression is seen.

    python -m benchmarks public --quick
    python -m benchmarks.ratios bench-results/numbers.json             compare: fails if one is far below what was kept
    python -m benchmarks.ratios bench-results/numbers.json --keep      keep these instead, and others as they were

A ratio is the share of the engine's speed that reaches a user, both measured in turns in one process. It still wanders with the
machine, so bounds are wide: only what has fallen below half is told.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

KEPT = Path(__file__).parent / "public_ratios.json"
BOUND = 0.5


def ratios(numbers: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, float]:
    """Of all that was measured through the public interface, by what it was."""
    return {name(line): round(line["ratio"], 2) for line in numbers.get("public", ())}


def name(line: Mapping[str, Any]) -> str:
    return f"{line['workload']}, views: {line['views']}, rows a push: {line['batch']}, reader: {line['reader']}"


def fallen(found: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """What is far below what was kept. What was never kept cannot fall."""
    return [
        f"{what}: {share:.2f} of the engine, {kept[what]:.2f} was kept"
        for what, share in found.items() if what in kept and share < BOUND * kept[what]
    ]


@click.command()
@click.argument("numbers", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--keep", is_flag=True, help="Keep these ratios in the repository.")
def main(numbers: Path, keep: bool) -> None:
    """Compare measured ratios with those that are kept."""
    found = ratios(json.loads(numbers.read_text()))
    kept = json.loads(KEPT.read_text())
    if not found:
        raise click.ClickException(f'{numbers} has no figures of "public": run python -m benchmarks public first')
    if keep:
        KEPT.write_text(json.dumps(dict(sorted({**kept, **found}.items())), indent=1) + "\n")
        return
    worse = fallen(found, kept)
    for line in worse:
        click.echo(line, err=True)
    click.echo(f"{len(found)} ratios, {sum(what in kept for what in found)} of them kept before, {len(worse)} far below")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
