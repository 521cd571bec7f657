"""`./run experiments`, or `python -m experiments` from a checkout."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table as Shown

from experiments.claims import Verdict
from experiments.drawing import need_matplotlib, png
from experiments.environment import environment
from experiments.figure import Figure, Paper
from experiments.registry import PAPERS, choose
from experiments.report import markdown, page
from experiments.results import Results, fingerprint
from experiments.running import Finished, run_figure
from sash.errors import SashError

COLOURS = {Verdict.CONFIRMED: "green", Verdict.REFUTED: "red", Verdict.UNDECIDED: "yellow", Verdict.NOT_RUNNABLE: "dim"}
WIDTH = 140  # where nobody looks at a screen, rich takes it for a narrow one
FIGURE_LIST = "\n".join(f"  {paper.number}/{one.number:8} {one.title}" for paper in PAPERS for one in paper.figures)


@click.command(epilog=f"\b\nNAMEs (all of a paper by its number alone, all papers without one):\n{FIGURE_LIST}")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Fewer tuples and turns: a minute or two for a paper.")
@click.option("--turns", type=click.IntRange(min=1), metavar="N", help="How often all is run  [default: as the figure likes]")
@click.option("--again", is_flag=True, help="Forget what was measured before, instead of going on with it.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("experiment-results"), show_default=True,
              metavar="DIR", help="Runs, figures and the report go here.")  # fmt: skip
def main(names: tuple[str, ...], quick: bool, turns: int | None, again: bool, out: Path) -> None:
    """Run figures of papers again, draw them, and say of every claim whether it holds."""
    words = " ".join(["./run experiments", *names, *(["--quick"] if quick else []), *([f"--turns {turns}"] if turns else [])])
    try:
        chosen = choose(names)
        need_matplotlib()
        where = environment()
        found = [(paper, _run(paper, figures, quick, turns, again, out)) for paper, figures in chosen]
    except SashError as error:
        click.echo(f"experiments: {error}", err=True)
        sys.exit(2)
    (out / "report.html").write_text(page(found, where, words), encoding="utf-8")
    (out / "verdicts.md").write_text(markdown(found, where, words), encoding="utf-8")
    (out / "verdicts.json").write_text(json.dumps(_verdicts(found), indent=1) + "\n")
    Console().print(f"report: {out / 'report.html'}; verdicts.md, verdicts.json, figures and runs beside it")


def _run(paper: Paper, figures: Sequence[Figure], quick: bool, turns: int | None, again: bool, out: Path) -> list[Finished]:
    results = Results(out / paper.number / ("quick.jsonl" if quick else "full.jsonl"), fingerprint(paper.sources))
    if again:
        results.forget()
    console, done = Console(), []
    console.width = max(console.width, WIDTH)
    with console.status(f"{paper.number}: compiling kernels") as status:
        paper.prepare()
        for figure in figures:
            count = turns or (figure.quick_turns if quick else figure.turns)
            done.append(run_figure(figure, results, quick, count, lambda what: status.update(f"{paper.number}/{what}")))
            console.print(_shown(paper, done[-1]))
            png(done[-1], out / paper.number / f"{figure.number}.png")
    return done


def _shown(paper: Paper, done: Finished) -> Shown:
    shown = Shown(title=f"{paper.number}/{done.figure.number}: {done.figure.title}", title_justify="left", show_lines=True)
    for column, width in (("verdict", 12), ("the paper says", 50), ("measured", 66)):
        shown.add_column(column, width=width)
    for one in done.judged:
        shown.add_row(f"[{COLOURS[one.verdict]}]{one.verdict.value}[/]", f"{one.claim.text} ({one.claim.source})", one.told)
    return shown


def _verdicts(found: Sequence[tuple[Paper, Sequence[Finished]]]) -> list[dict[str, object]]:
    return [
        {"figure": f"{paper.number}/{done.figure.number}", "source": one.claim.source, "claim": one.claim.text,
         "verdict": one.verdict.value, "measured": one.told}
        for paper, figures in found for done in figures for one in done.judged
    ]  # fmt: skip


if __name__ == "__main__":
    main()
