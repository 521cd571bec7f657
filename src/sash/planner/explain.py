"""A physical plan as a table: operators, how rows leave each edge, what is kept, and what all that is expected to cost.

    mode     1 to 4, of seed 002, 3.1: whether rows leave its inputs, and whether they leave its output (`_MODES`)
    rate/s   rows that come out for every second of the streams
    kept     rows that the operator remembers
    cost     microseconds of work for every second of the streams
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sash.deep import deeply
from sash.operators.spec import Spec
from sash.plan.nodes import Plan
from sash.plan.patterns import Pattern
from sash.plan.statistics import NOTHING_KNOWN, Statistics
from sash.plan.tree_text import tree_lines
from sash.planner.choose import Choice
from sash.planner.cost import Costs
from sash.planner.estimates import Estimates
from sash.planner.placement import Expiry

SMALLEST = 0.001  # number that is shown
TEXTS = 4  # columns that are no numbers

_LEAVE = {
    Pattern.MONOTONIC: "never",
    Pattern.WEAKEST: "by expiry, in order",
    Pattern.WEAK: "by expiry",
    Pattern.STRICT: "by negative rows",
}

_MODES = {  # of windowed input, windowed output
    (False, False): "1", (True, False): "2", (False, True): "3", (True, True): "4",
}  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """What an operator that runs has counted: rows a second, rows kept, microseconds of work a second; of a negation also the
    share of rows that left early."""

    rate: float
    kept: float
    work: float
    early: float | None = None


@deeply
def explain_view(
    view: Plan | Choice, expiry: Expiry, statistics: Statistics = NOTHING_KNOWN, counted: Mapping[str, Counts] | None = None,
    shards: int = 2,
) -> str:
    """How a view runs on several shards; with what was counted beside the estimates where it runs."""
    choice = view if isinstance(view, Choice) else Choice(view)
    spec, _ = choice.placed(shards, expiry)
    costs = Costs(Estimates(statistics))
    heads = ("operator", "rows leave", "mode", "keeps", "rate/s", "kept", "cost")
    lines = [heads, *((name, *_facts(one, costs)) for name, one in _lines(spec))]
    if counted is not None:
        reals = (_counts(counted.get(one.fingerprint)) for _, one in _lines(spec))
        more = [("real rate/s", "real kept", "real cost", "early"), *reals]
        lines = [(*line, *real) for line, real in zip(lines, more, strict=True)]
    return "\n".join(_table(lines))


def explain_streams(names: Sequence[str], statistics: Statistics) -> str:
    """What is known of streams and tables: rates, and how many values their columns have."""
    return "\n".join(f"{name}: {'; '.join(_known_of(name, statistics)) or 'no rows'}" for name in names)


def _known_of(name: str, statistics: Statistics) -> Iterator[str]:
    if name in statistics.rates:
        yield f"{_number(statistics.rates[name])} rows/s"
    if name in statistics.table_rows:
        yield f"{_number(statistics.table_rows[name])} rows"
    values = [f"{column} {_number(n)}" for (stream, column), n in statistics.distinct.items() if stream == name]
    if values:
        yield f"values: {', '.join(values)}"


def _table(lines: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns side by side; numbers, which are after the fourth column, end at the same place."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        words = [text.ljust(width) for text, width in zip(line[:TEXTS], widths[:TEXTS], strict=True)]
        numbers = [text.rjust(width) for text, width in zip(line[TEXTS:], widths[TEXTS:], strict=True)]
        yield "  ".join([*words, *numbers]).rstrip()


def _facts(spec: Spec, costs: Costs) -> tuple[str, ...]:
    cost, rate = costs.of(spec), costs.estimates.of(spec).rate
    return _LEAVE[spec.pattern], _mode(spec), spec.keeps, _number(rate), _number(cost.kept), _number(cost.work / 1000)


def _mode(spec: Spec) -> str:
    """Of an operator; a port is none."""
    if not spec.made_of:
        return ""
    return _MODES[any(one.pattern is not Pattern.MONOTONIC for one in spec.made_of), spec.pattern is not Pattern.MONOTONIC]


def _counts(counts: Counts | None) -> tuple[str, ...]:
    if counts is None:
        return ("",) * 4
    early = "" if counts.early is None else f"{counts.early:.0%}"
    return _number(counts.rate), _number(counts.kept), _number(counts.work), early


def _number(value: float) -> str:
    """Three digits that count."""
    if value < SMALLEST:
        return "-" if value == 0 else "~0"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _lines(spec: Spec) -> Iterator[tuple[str, Spec]]:
    """Every operator with its place in the tree."""
    return tree_lines(spec, lambda one: one.made_of, lambda one: one.title)
