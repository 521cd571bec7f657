"""`sash bench patterns`: what is measured, and the tables and figures made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sash.bench.patterns import STRATEGIES, Measured, Run, TooLong, measure
from sash.bench.patterns_input import LINKS, QUERIES, Input, Query, favorites, generated, read_log, recorded
from sash.bench.report import Options, Report
from sash.physical.papers import Stores

Sizes = dict[Stores, tuple[int, ...]]
Inputs = Callable[[Query], Input]
CROSSING = (250, 500, 1_000, 2_000, 5_000, 10_000)
SIZES: Sizes = {
    Stores.ENGINE: (2_000, 20_000, 200_000), Stores.PAPERS: (2_000, 10_000, 50_000), Stores.IN_ORDER: CROSSING,
}  # fmt: skip
QUICK_SIZES: Sizes = {Stores.ENGINE: (2_000, 20_000), Stores.PAPERS: (2_000, 10_000), Stores.IN_ORDER: CROSSING[1::2]}
# Of 106,000 rows, half are one link, a third where three are read.
RECORDED_SIZES: Sizes = {
    Stores.ENGINE: (2_000, 20_000, 50_000), Stores.PAPERS: (2_000, 10_000, 50_000), Stores.IN_ORDER: CROSSING,
}  # fmt: skip
ROWS = {Stores.ENGINE: 200_000, Stores.PAPERS: 1_000, Stores.IN_ORDER: 2_000}  # of each link, once the windows are full
TITLES = {
    Stores.ENGINE: "the engine's stores", Stores.PAPERS: "the stores of the papers",
    Stores.IN_ORDER: "the stores of the papers, windows in order",
}  # fmt: skip
# Windows above this make Query 5 with the join first too large to keep, or to scan.
LARGEST_RESULT = {Stores.ENGINE: 20_000, Stores.PAPERS: 2_000, Stores.IN_ORDER: 2_000}
LONGEST = 240  # seconds that all strategies may take, played once each; no further turn begins after it
REPEAT = {Stores.ENGINE: 5, Stores.PAPERS: 2, Stores.IN_ORDER: 3}
PAPER_QUERIES = ("Query 1", "Query 2", "Query 3", "Query 4", "Query 5")
PLAYED = (10_000, 20_000)  # window, and rows of each link after it, where only counts matter
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
COLOURS = dict(zip(STRATEGIES, ("#1f5fa8", "#6aa84f", "#c0392b", "#e69138", "#8e5ea2", "#9a9a9a"), strict=True))


def run(options: Options) -> Iterator[Report]:
    for inputs, sizes in _inputs(options):
        for stores in (Stores.ENGINE, Stores.IN_ORDER, Stores.PAPERS):
            yield _times(inputs, stores, sizes[stores], options)
    counted = generated(sum(PLAYED))
    yield _join_work(counted, options)
    yield _delays(counted, options)


def _inputs(options: Options) -> Iterator[tuple[Inputs, Sizes]]:
    sizes = QUICK_SIZES if options.quick else SIZES
    made = generated(_rows_needed(sizes, options))
    yield lambda query: made, sizes
    if options.connections is not None:
        log = read_log(options.connections)
        rows = _rows_needed(RECORDED_SIZES, options)
        parts = {links: recorded(log, options.connections.name, links, rows) for links in range(1, LINKS + 1)}
        yield lambda query: parts[query.links], RECORDED_SIZES


def _rows_needed(sizes: Sizes, options: Options) -> int:
    """Of each link: to fill the largest windows, and to measure then."""
    return max(max(some) + (options.rows or ROWS[stores]) for stores, some in sizes.items())


def _times(inputs: Inputs, stores: Stores, sizes: Sequence[int], options: Options) -> Report:
    found: list[Measured] = []
    notes: list[str] = []
    for query in _queries(stores):
        input_ = inputs(query)
        for size in sizes:
            if size > input_.round or ("negation up" in query.name and size > LARGEST_RESULT[stores]):
                continue
            options.say(f"{stores.value} stores, {input_.name}, {query.name}, {size:,} rows")
            repeat, rows = options.repeat or (1 if options.quick else REPEAT[stores]), options.rows or ROWS[stores]
            try:
                found += measure(query, input_, size, rows, repeat, stores, LONGEST)
            except TooLong:
                notes.append(f"{query.name} over {size:,} rows takes more than {LONGEST // 60} minutes, and is left out")
                break
    name = inputs(QUERIES[0]).name
    used = [strategy for strategy in STRATEGIES if any(one.strategy == strategy for one in found)]
    lines = [_line(group, used) for group in _groups(found)]
    columns = ("query, window", "auto over negative", "bytes negative/auto", *used)
    title = f"Expiry strategies over {TITLES[stores]}, {name}: CPU nanoseconds a row"
    numbers = [
        {"query": one.query, "window": one.window, "stores": one.stores.value, "strategy": one.strategy, "input": name,
         "nanoseconds": one.nanoseconds, **one.facts}
        for one in found
    ]  # fmt: skip
    return Report(title, columns, lines, numbers, notes, draw=(lambda path: _draw(found, used, path)) if found else None)


def _queries(stores: Stores) -> Sequence[Query]:
    if stores is Stores.ENGINE:
        return QUERIES
    played = [query for query in QUERIES if query.name.startswith(PAPER_QUERIES)]
    return played if stores is Stores.PAPERS else [query for query in played if query.has_negation]


def _groups(found: Sequence[Measured]) -> list[dict[str, Measured]]:
    """Of one query and window, by strategy."""
    groups: dict[tuple[str, int], dict[str, Measured]] = {}
    for one in found:
        groups.setdefault((one.query, one.window), {})[one.strategy] = one
    return list(groups.values())


def _line(group: dict[str, Measured], used: Sequence[str]) -> list[str]:
    auto, negative = group["auto"], group["negative"]
    space = negative.facts["state_bytes"] / max(1, auto.facts["state_bytes"])
    times = [f"{group[strategy].median:,.0f}" if strategy in group else "" for strategy in used]
    return [f"{auto.query}, {auto.window:,}", f"{negative.median / auto.median:.2f}", f"{space:.1f}", *times]


def _join_work(input_: Input, options: Options) -> Report:
    """Seed 000, figures 8 and 9: what a join has to do, and what it sends up, by the number of its results."""
    lines: list[list[str]] = []
    numbers: list[dict[str, object]] = []
    base = next(query for query in QUERIES if query.name == "Q2 of seed 000")
    for protocol in ("FEW", "MANY"):
        for strategy in STRATEGIES:
            options.say(f"join work, {strategy}")
            query = replace(base, sql=base.sql.replace("FEW", protocol))
            facts = _facts(query, input_, strategy)
            sent, matches = facts["above_join"], facts["above_join"]["positive"] / max(1, facts["probes"])
            leaving = (sent["negative"] + sent["messages"]) / max(1, sent["positive"])
            lines.append([f"{'few' if protocol == 'FEW' else 'many'} results, {strategy}", f"{facts['probes']:,}",
                          f"{sent['positive']:,}", f"{sent['negative']:,}", f"{sent['messages']:,}", f"{leaving:.3f}"])
            numbers.append({"protocol": protocol, "strategy": strategy, "leaving": leaving, "matches": matches, **facts})
    columns = ("Q2 of seed 000", "probes", "positive", "negative", "messages", "leaving/positive")
    return Report("What a join does and sends up (seed 000, figures 8 and 9)", columns, lines, numbers)


def _delays(input_: Input, options: Options) -> Report:
    """Seed 000, figure 7: how late input-triggered answers are, by the share of rows that join."""
    lines: list[list[str]] = []
    numbers: list[dict[str, object]] = []
    base = next(query for query in QUERIES if query.name == "Q1 of seed 000")
    for share in SHARES:
        options.say(f"delay, {share:.0%} of the rows join")
        some = replace(input_, table=favorites(input_.links[0], share))
        delay = _facts(base, some, "input-triggered")["delay"] or {"average": 0.0, "p99": 0.0, "maximum": 0.0}
        lines.append([f"{share:.0%}", *(f"{1000 * delay[name]:.2f}" for name in ("average", "p99", "maximum")), "0.00"])
        numbers.append({"share": share, **delay})
    columns = ("share of rows that join", "average ms", "p99 ms", "maximum ms", "all other strategies")
    notes = ("In the time of the stream, which has one row in a millisecond.",)
    return Report("Delay of input-triggered answers (seed 000, figure 7)", columns, lines, numbers, notes)


def _facts(query: Query, input_: Input, strategy: str) -> dict[str, Any]:
    run = Run(query, input_, PLAYED[0], strategy, Stores.ENGINE)
    run.play(*PLAYED)
    facts = run.facts()
    run.close()
    return facts


def _draw(found: Sequence[Measured], used: Sequence[str], path: Path) -> None:
    """One panel a query; both axes are logarithmic."""
    from matplotlib import pyplot

    queries = list(dict.fromkeys(one.query for one in found))
    rows = -(-len(queries) // 4)
    figure, axes = pyplot.subplots(rows, 4, figsize=(12.4, 2.9 * rows), squeeze=False, layout="constrained")
    for axis, query in zip(axes.flat, queries, strict=False):
        for strategy in used:
            some = [one for one in found if one.query == query and one.strategy == strategy]
            axis.plot([one.window for one in some], [one.median for one in some], marker="o", markersize=3, label=strategy,
                      color=COLOURS[strategy])
        axis.set(xscale="log", yscale="log", title=query)
        axis.grid(True, which="major", alpha=0.3)
    for axis in axes.flat[len(queries) :]:
        axis.set_axis_off()
    axes.flat[0].legend(frameon=False, fontsize="x-small")
    figure.supxlabel("rows in a window", fontsize="medium")
    figure.supylabel("nanoseconds of CPU a row", fontsize="medium")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
