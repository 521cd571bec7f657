"""One page for all that was run: verdicts first, then every figure with its claims and its numbers. It needs nothing beside
it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from experiments.claims import Judged, Verdict, tell
from experiments.drawing import svg
from experiments.figure import Paper
from experiments.running import Finished
from experiments.tables import Cell

MARKS = {Verdict.CONFIRMED: "✓", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?", Verdict.NOT_RUNNABLE: "–"}

LEAD = (
    "What their figures claim, measured anew. A claim is a set of bounds on ratios of systems that ran one after the other in "
    "one turn, on the same input. Confirmed: the interval of every ratio is inside its bound. Refuted: one is outside. "
    "Undecided: one straddles it. Counts are judged exactly."
)

STYLE = """
:root { --ink: #1c2733; --soft: #5b6875; --line: #dfe5ea; --paper: #fff; --ground: #f4f6f8;
        --confirmed: #1d7a46; --refuted: #b3261e; --undecided: #9a6700; --not-runnable: #667380; }
* { box-sizing: border-box } body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui,
sans-serif } main { max-width: 1080px; margin: 0 auto; padding: 2.2rem 1.2rem 4rem }
h1 { font-size: 1.9rem; margin: 0 0 .2rem } h2 { font-size: 1.35rem; margin: 2.6rem 0 .2rem } h3 { font-size: 1.1rem; margin: 0 }
p { margin: .4rem 0 } .soft { color: var(--soft) } code { font-size: .9em }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.3rem; margin: 1rem 0 }
.tiles { display: flex; gap: .8rem; flex-wrap: wrap; margin: 1.2rem 0 }
.tile { flex: 1 1 8rem; background: var(--paper); border: 1px solid var(--line); border-top: 4px solid; border-radius: 10px;
padding: .7rem 1rem } .tile b { display: block; font-size: 1.9rem; line-height: 1.2 }
.badge { display: inline-block; min-width: 7.4rem; border-radius: 99px; padding: .1rem .7rem; color: #fff; font-size: .82rem;
font-weight: 600;
         text-align: center; white-space: nowrap }
.confirmed { background: var(--confirmed); border-color: var(--confirmed) } .refuted { background: var(--refuted); border-color:
var(--refuted) } .undecided { background: var(--undecided); border-color: var(--undecided) }
.not-runnable { background: var(--not-runnable); border-color: var(--not-runnable) }
.tile.confirmed, .tile.refuted, .tile.undecided, .tile.not-runnable { background: var(--paper) }
table { border-collapse: collapse; width: 100%; font-size: .92rem } td, th { text-align: left; vertical-align: top; padding:
.45rem .6rem .45rem 0;
        border-top: 1px solid var(--line) } th { border-top: 0; color: var(--soft); font-weight: 600 } td.n { text-align: right;
        font-variant-numeric: tabular-nums; white-space: nowrap }
svg { width: 100%; height: auto; margin: .6rem 0 } details { margin-top: .6rem } summary { cursor: pointer; color: var(--soft) }
.scroll { max-height: 28rem; overflow: auto } .map a { display: inline-block; text-decoration: none; color: inherit; margin:
.15rem 1.1rem .15rem 0 } .dot { display: inline-block; width: 1.15rem; height: 1.15rem; line-height: 1.15rem; border-radius:
4px; color: #fff; font-size: .75rem;
       text-align: center; margin-left: 2px }
"""


def page(papers: Sequence[tuple[Paper, Sequence[Finished]]], environment: Mapping[str, str], command: str) -> str:
    return "".join((
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>Papers, run again</title><style>{STYLE}</style><main><h1>Papers, run again</h1>",
        f'<p class="soft">{LEAD}</p>',
        _tiles([judged for _, figures in papers for done in figures for judged in done.judged]),
        *(part for paper, figures in papers for part in _paper(paper, figures)),
        _environment(environment, command), "</main></html>\n",
    ))  # fmt: skip


def _class(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")


def _tiles(judged: Sequence[Judged]) -> str:
    counts = Counter(one.verdict for one in judged)
    tiles = (f'<div class="tile {_class(one)}"><b>{counts[one]}</b>{one.value}</div>' for one in Verdict)
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _paper(paper: Paper, figures: Sequence[Finished]) -> Iterator[str]:
    yield f'<h2>{paper.number}: {escape(paper.title)}</h2><p class="map">'
    for done in figures:
        dots = "".join(f'<span class="dot {_class(one.verdict)}">{MARKS[one.verdict]}</span>' for one in done.judged)
        yield f'<a href="#{paper.number}-{done.figure.number}">{done.figure.number} {dots}</a>'
    yield "</p>"
    for done in figures:
        yield from _figure(paper, done)


def _figure(paper: Paper, done: Finished) -> Iterator[str]:
    figure = done.figure
    size = "quick run, " if done.is_quick else ""
    yield f'<section class="card" id="{paper.number}-{figure.number}"><h3>{figure.number}: {escape(figure.title)}</h3>'
    yield f'<p class="soft">{escape(figure.what)} ({size}{done.turns} turns)</p>{svg(done)}'
    yield "<table><tr><th>verdict</th><th>the paper says</th><th>measured</th></tr>"
    for judged in done.judged:
        yield _claim(judged)
    yield "</table>"
    yield f"<details><summary>all bounds</summary><div class=scroll>{''.join(_bounds(done.judged))}</div></details>"
    yield f"<details><summary>raw numbers</summary><div class=scroll>{''.join(_numbers(done))}</div></details></section>"


def _claim(judged: Judged) -> str:
    claim = judged.claim
    note = f'<p class="soft">{escape(claim.note)}</p>' if claim.note else ""
    return (
        f'<tr><td><span class="badge {_class(judged.verdict)}">{MARKS[judged.verdict]} {judged.verdict.value}</span></td>'
        f'<td>{escape(claim.text)} <span class="soft">[{escape(claim.source)}]</span></td>'
        f"<td>{escape(judged.told)}{note}</td></tr>"
    )


def _bounds(judged: Sequence[Judged]) -> Iterator[str]:
    yield "<table>"
    for one in judged:
        for bound in one.bounds:
            yield f"<tr><td>{escape(one.claim.source)}</td><td>{escape(tell(bound))}</td><td>{bound.verdict.value}</td></tr>"
    yield "</table>"


def _numbers(done: Finished) -> Iterator[str]:
    yield '<table><tr><th>setting</th><th>system</th><th>measure</th><th style="text-align:right">median</th><th>turns</th></tr>'
    for setting in done.settings:
        for system in done.figure.systems:
            if not done.table.has(setting, system):
                continue
            for measure in done.table.measures(setting, system):
                series = done.table.series(Cell(setting, system, measure))
                turns = " ".join(f"{value:.5g}" for value in series)
                yield f"<tr><td>{escape(setting)}</td><td>{escape(system)}</td><td>{escape(measure)}</td>"
                yield f'<td class="n">{statistics.median(series):.5g}</td><td>{turns}</td></tr>'
    yield "</table>"


def _environment(environment: Mapping[str, str], command: str) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in environment.items())
    return f'<h2>Environment</h2><section class="card"><p><code>{escape(command)}</code></p><table>{rows}</table></section>'


def markdown(papers: Sequence[tuple[Paper, Sequence[Finished]]], environment: Mapping[str, str], command: str) -> str:
    """The verdicts as tables for a page of the documentation."""
    lines = [f"`{command}`: " + ", ".join(f"{name} {value}" for name, value in environment.items()), ""]
    for paper, figures in papers:
        lines += [f"## {paper.number}: {paper.title}", "", "| figure | verdict | the paper says | measured |"]
        lines.append("|---|---|---|---|")
        for done in figures:
            lines += [
                f"| {done.figure.number} | {one.verdict.value} | {one.claim.text} ({one.claim.source}) | {one.told} |"
                for one in done.judged
            ]
        lines.append("")
    return "\n".join(lines)
