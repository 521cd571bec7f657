"""`./run bench patterns`: what is measured, and the tables and figures made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.papers.plans import Stores
from benchmarks.patterns import STEP, STRATEGIES, Measured, TooLong, Turns, measure
from benchmarks.patterns_input import LINKS, QUERIES, Input, Query, generated, read_log, recorded
from benchmarks.patterns_joins import delays, join_work
from benchmarks.report import Options, Report

Sizes = dict[Stores, tuple[int, ...]]
Inputs = Callable[[Query], Input]
CROSSING = (50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000)
SIZES: Sizes = {
    Stores.ENGINE: (2_000, 20_000, 200_000), Stores.PAPERS: (2_000, 10_000, 50_000), Stores.IN_ORDER: CROSSING,
}  # fmt: skip
QUICK_SIZES: Sizes = {Stores.ENGINE: (2_000, 20_000), Stores.PAPERS: (2_000, 10_000), Stores.IN_ORDER: CROSSING[1::2]}
# Of 106,000 rows, half are one link, a third where three are read.
RECORDED_SIZES: Sizes = {
    Stores.ENGINE: (2_000, 20_000, 50_000), Stores.PAPERS: (2_000, 10_000, 50_000), Stores.IN_ORDER: CROSSING,
}  # fmt: skip
ROWS = {Stores.ENGINE: 200_000, Stores.PAPERS: 1_000, Stores.IN_ORDER: 10_000}  # of each link, once the windows are full
# Rows of each link once the windows are full that are not measured yet: stores still grow to the size that they need.
WARM = {Stores.ENGINE: STEP, Stores.PAPERS: 0, Stores.IN_ORDER: 0}
TITLES = {
    Stores.ENGINE: "the engine's stores", Stores.PAPERS: "the stores of the papers",
    Stores.IN_ORDER: "the stores of the papers, windows in order",
}  # fmt: skip
# Windows above this make Query 5 with the join first too large to keep, or to scan.
LARGEST_RESULT = {Stores.ENGINE: 20_000, Stores.PAPERS: 2_000, Stores.IN_ORDER: 2_000}
LONGEST = 240  # seconds that all strategies may take, played once each
TURNS = {
    Stores.ENGINE: Turns(5, 41, 10, LONGEST), Stores.PAPERS: Turns(2, 2, longest=LONGEST),
    Stores.IN_ORDER: Turns(5, 25, 5, LONGEST),
}  # fmt: skip
PAPER_QUERIES = ("Query 1", "Query 2", "Query 3", "Query 4", "Query 5")
COLOURS = dict(zip(STRATEGIES, ("#1f5fa8", "#6aa84f", "#c0392b", "#e69138", "#8e5ea2", "#9a9a9a"), strict=True))


def run(options: Options) -> Iterator[Report]:
    for inputs, sizes in _inputs(options):
        for stores in (Stores.ENGINE, Stores.IN_ORDER, Stores.PAPERS):
            yield _times(inputs, stores, sizes[stores], options)
    yield join_work(options)
    yield delays(options)


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
    """Of each link: to fill the largest windows, to warm up, and to measure then."""
    counts = {stores: options.rows or ROWS[stores] for stores in sizes}
    return max(max(some) + counts[stores] + min(counts[stores], WARM[stores]) for stores, some in sizes.items())


def _times(inputs: Inputs, stores: Stores, sizes: Sequence[int], options: Options) -> Report:
    found: list[Measured] = []
    notes: list[str] = []
    for query in _queries(stores):
        input_ = inputs(query)
        for size in sizes:
            if size > input_.round or ("negation up" in query.name and size > LARGEST_RESULT[stores]):
                continue
            options.say(f"{stores.value} stores, {input_.name}, {query.name}, {size:,} rows")
            rows = options.rows or ROWS[stores]
            try:
                found += measure(query, input_, size, rows, stores, _turns(stores, options), min(rows, WARM[stores]))
            except TooLong:
                notes.append(f"{query.name} over {size:,} rows takes more than {LONGEST} seconds, and is left out")
                break
    name = inputs(QUERIES[0]).name
    used = [strategy for strategy in STRATEGIES if any(one.strategy == strategy for one in found)]
    lines = [_line(group, used) for group in _groups(found)]
    columns = ("query, window", "negative over auto", "auto over best", "bytes negative/auto", *used)
    title = f"Expiry strategies over {TITLES[stores]}, {name}: CPU nanoseconds a row"
    numbers = [
        {"query": one.query, "window": one.window, "stores": one.stores.value, "strategy": one.strategy, "input": name,
         "nanoseconds": one.nanoseconds, **one.facts}
        for one in found
    ]  # fmt: skip
    return Report(title, columns, lines, numbers, notes, draw=(lambda path: _draw(found, used, path)) if found else None)


def _turns(stores: Stores, options: Options) -> Turns:
    often = options.repeat or (3 if options.quick else 0)
    return Turns(often, often, longest=LONGEST) if often else TURNS[stores]


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
    best = max(auto.over(fixed) for fixed in group.values())
    return [f"{auto.query}, {auto.window:,}", f"{negative.over(auto):.2f}", f"{best:.2f}", f"{space:.1f}", *times]


def _draw(found: Sequence[Measured], used: Sequence[str], path: Path) -> None:
    """One panel a query; both axes are logarithmic. `auto` comes last, on top of those that have the same plan."""
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    queries = list(dict.fromkeys(one.query for one in found))
    rows = -(-len(queries) // 4)
    figure, axes = pyplot.subplots(rows, 4, figsize=(12.4, 2.9 * rows), squeeze=False, layout="constrained")
    for axis, query in zip(axes.flat, queries, strict=False):
        windows = sorted({one.window for one in found if one.query == query})
        for strategy in reversed(used):
            some = [one for one in found if one.query == query and one.strategy == strategy]
            axis.plot([one.window for one in some], [one.median for one in some], marker="o", markersize=3, label=strategy,
                      color=COLOURS[strategy], linewidth=2.4 if strategy == "auto" else 1.4)
        axis.set(xscale="log", yscale="log", title=query)
        axis.set_xticks(windows[:: -(-len(windows) // 4)])
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        for one in (axis.xaxis, axis.yaxis):
            one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            one.set_minor_formatter(NullFormatter())
        axis.grid(True, which="major", alpha=0.3)
    for axis in axes.flat[len(queries) :]:
        axis.set_axis_off()
    axes.flat[0].legend(frameon=False, fontsize="x-small", reverse=True)
    figure.supxlabel("rows in a window", fontsize="medium")
    figure.supylabel("nanoseconds of CPU a row", fontsize="medium")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
