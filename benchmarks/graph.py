"""The experiments of seed 004: schedules, and time on demand.

    idle        union of 1,000 rows/s with 0.5 rows/s: delay of a row with and without time on demand
    bursts      depth first against breadth first: (n + 1) c against (1.5 n + 0.5) c for bursts of n rows
    large       time along direct arcs against punctuation through every operator, in graphs of growing size
    slide       burstiness of a union with a sliding count, over its slide
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.arrivals import BenchClock, Effects, Setting, SimulatedClock, Time, WallClock, bursts, play, poisson
from benchmarks.report import Options, Report
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Int64s
from sash.operators.filter.spec import FilterSpec
from sash.operators.sets.spec import UnionAllSpec
from sash.operators.spec import PortSpec, Spec, below
from sash.runtime.schedule import AUTO, Schedule
from sash.runtime.time_propagation import Timing

COST = 100.0  # microseconds that a row takes in an operator, on the simulated clock
FAST, SLOW = 1000.0, 0.5  # rows a second
SPAN = 0.02  # seconds in which rows are counted, for burstiness

DEPTH, BREADTH = Schedule("dfs", 1), Schedule("bfs", 1)
PASSING = 95  # of 100 rows, through a filter

STREAMS = "".join(f"CREATE STREAM s{n} (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts;\n" for n in range(8))


@dataclass(frozen=True)
class Measured:
    """One point of an experiment."""

    experiment: str
    clock: str  # simulated or real
    line: str
    x: int | str
    value: float
    expected: float | None = None
    messages: int = 0


@dataclass(frozen=True)
class Sizes:
    """How much to do."""

    simulated: float  # seconds of arrivals
    real: float
    bursts: tuple[int, ...]
    depths: tuple[int, ...]
    slides: tuple[int, ...]


FULL = Sizes(20.0, 5.0, (1, 2, 5, 10, 20, 50, 100), (1, 2, 4, 8), (1, 10, 20, 50, 100))
QUICK = Sizes(4.0, 2.0, (1, 10, 50), (1, 4), (5, 50))


@dataclass(frozen=True)
class Experiment:
    """What is compared: the second line with the first."""

    title: str
    x: str
    lines: tuple[str, str]
    unit: str
    note: str


EXPERIMENTS = {
    "idle": Experiment(
        "Union of 1,000 rows/s with 0.5 rows/s: delay of a row", "schedule", ("on demand", "rows alone"), "ms",
        "A row of the fast stream waits for one of the slow stream, unless the source of that one is asked for the time. "
        "Delays are means on the simulated clock, medians in real time.",
    ),
    "bursts": Experiment(
        "Bursts of n rows through a filter and a union: delay of a row", "n", ("dfs", "bfs"), "ms",
        f"Expected on the simulated clock: (n + 1) c depth first, (1.5 n + 0.5) c breadth first, c = {COST / 1000} ms.",
    ),
    "large": Experiment(
        "A tree of seven unions over eight streams: delay of a row", "filters", ("direct", "punctuation"),
        "ms", "So many filters lie between a source and a union and between two unions: time goes past them, or through each.",
    ),
    "slide": Experiment(
        "Union with a count that slides by n rows: burstiness of the output", "n", ("on demand", "rows alone"), "",
        f"Rows in {SPAN} s: most less fewest, over the mean.",
    ),
}  # fmt: skip


def run(options: Options) -> list[Report]:
    found = []
    for one in measure(QUICK if options.quick else FULL):
        options.say(f"{one.experiment}, {one.clock} clock, {one.line}, {one.x}")
        found.append(one)
    return [_report(name, [one for one in found if one.experiment == name]) for name in EXPERIMENTS]


def _report(name: str, found: Sequence[Measured]) -> Report:
    what = EXPERIMENTS[name]
    first, second = what.lines
    columns = [what.x, "clock", "ratio", *(f"{line} {what.unit}".strip() for line in what.lines), "expected", "messages"]
    points = {(one.clock, one.x, one.line): one for one in found}
    lines = []
    for clock, x in dict.fromkeys((one.clock, one.x) for one in found):
        pair = [points[clock, x, line] for line in (first, second)]
        expected = [f"{one.expected:.2f}" for one in pair if one.expected is not None]
        values = [f"{one.value:.3g}" for one in pair]
        messages = " / ".join(str(one.messages) for one in pair)
        lines.append([str(x), clock, f"{pair[1].value / pair[0].value:,.2f}", *values, " / ".join(expected) or "-", messages])
    numbers: list[dict[str, object]] = [asdict(one) for one in found]

    def draw(path: Path) -> None:
        from benchmarks.graph_figure import draw

        draw(what, found, path)

    return Report(what.title, columns, lines, numbers, [what.note], draw)


def measure(sizes: Sizes) -> Iterator[Measured]:
    for name in ("simulated", "real"):
        seconds = sizes.simulated if name == "simulated" else sizes.real
        yield from idle(name, seconds)
        yield from burst_delays(name, seconds / 2, sizes)
        yield from large(name, seconds / 2, sizes)
        yield from slides(name, seconds / 2, sizes)


def clock_of(name: str, cost: float = COST) -> BenchClock:
    return SimulatedClock(cost) if name == "simulated" else WallClock()


def delay(name: str, effects: Effects) -> float:
    """In real time the median, since others share the machine."""
    return effects.mean_delay if name == "simulated" else effects.median_delay


def planned(sql: str) -> tuple[Spec, tuple[PortSpec, ...]]:
    """The operators of a query, and the streams it reads in the order of their names."""
    db = EmbeddedDatabase()
    db.execute(f"{STREAMS} CREATE MATERIALIZED VIEW answer AS {sql};")
    job = db.planned(1)
    ports = sorted((port.spec for port in job.ports), key=lambda spec: str(spec.stream))
    return job.views[0].spec, tuple(ports)


def streams(count: int) -> tuple[PortSpec, ...]:
    (port,) = planned("SELECT ts, v FROM s0")[1]
    return tuple(replace(port, stream=f"s{n}") for n in range(count))


def filtered(spec: Spec, passing: int, depth: int = 1) -> Spec:
    """So many filters one after the other; an optimizer would make them one."""
    found = planned(f"SELECT ts, v FROM s0 WHERE v < {passing}")[0]
    predicate = next(one.predicate for one in below(found) if isinstance(one, FilterSpec))
    for _ in range(depth):
        spec = FilterSpec(spec, predicate)
    return spec


def idle(name: str, seconds: float) -> Iterator[Measured]:
    """Delay of rows of a fast stream that are united with those of a slow one: figure 1 of the seed."""
    ports = streams(2)
    sink = UnionAllSpec(*(filtered(port, PASSING) for port in ports))
    arrivals = [poisson(FAST, seconds, 1), poisson(SLOW, seconds, 2)]
    for schedule in (DEPTH, BREADTH) if name == "simulated" else (AUTO,):
        for timing, source in ((Timing.ROWS, Time.OWN_ROWS), (Timing.DIRECT, Time.ON_DEMAND)):
            effects = play(Setting(sink, ports, schedule, timing, (source,)), arrivals, clock_of(name))
            yield Measured("idle", name, source.value, str(schedule), delay(name, effects), messages=effects.messages)


def burst_delays(name: str, seconds: float, sizes: Sizes) -> Iterator[Measured]:
    """Mean delay by the size of bursts; all rows pass, and nobody waits for the other stream."""
    ports = streams(2)
    sink = UnionAllSpec(*(filtered(port, 100) for port in ports))
    for size in sizes.bursts:
        arrivals: list[Int64s] = [bursts(size, FAST / 5, seconds), np.empty(0, np.int64)]
        expected = {"dfs": (size + 1) * COST / 1000, "bfs": (1.5 * size + 0.5) * COST / 1000}
        for schedule in (DEPTH, BREADTH):
            setting = Setting(sink, ports, schedule, Timing.DIRECT, (Time.ON_DEMAND, Time.LATENT))
            effects = play(setting, arrivals, clock_of(name), patience=size)
            known = expected[schedule.rule] if name == "simulated" else None
            yield Measured("bursts", name, schedule.rule, size, delay(name, effects), known)


def large_graph(ports: tuple[PortSpec, ...], depth: int) -> Spec:
    """As figure 10 of the seed, of any size: a tree of unions, with filters before and after each."""
    level = [filtered(port, PASSING, depth) for port in ports]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [filtered(UnionAllSpec(left, right), PASSING, depth) for left, right in pairs]
    return level[0]


def large(name: str, seconds: float, sizes: Sizes) -> Iterator[Measured]:
    """Delay by the number of filters between two unions; one stream is fast, seven are slow."""
    ports = streams(8)
    arrivals = [poisson(FAST / 20 if n == 0 else SLOW, seconds, n) for n in range(8)]
    for depth in sizes.depths:
        sink = large_graph(ports, depth)
        for timing in (Timing.DIRECT, Timing.PUNCTUATION):
            effects = play(Setting(sink, ports, AUTO, timing, (Time.ON_DEMAND,)), arrivals, clock_of(name))
            yield Measured("large", name, timing.value, depth, delay(name, effects), messages=effects.messages)


def slides(name: str, seconds: float, sizes: Sizes) -> Iterator[Measured]:
    """Burstiness of a fast stream united with a count of another one that changes once in so many rows."""
    arrivals = [poisson(FAST / 2, seconds, 1), poisson(FAST / 2, seconds, 2)]
    for slide in sizes.slides:
        count = f"SELECT MAX(ts) AS ts, COUNT(*) AS v FROM s1 [ROWS {5 * slide} SLIDE {slide}] GROUP BY v < 0"
        sink, ports = planned(f"SELECT ts, v FROM s0 UNION ALL {count}")
        for timing, source in ((Timing.ROWS, Time.OWN_ROWS), (Timing.DIRECT, Time.ON_DEMAND)):
            effects = play(Setting(sink, ports, AUTO, timing, (source,)), arrivals, clock_of(name, COST / 10))
            yield Measured("slide", name, source.value, slide, effects.burstiness(SPAN), messages=effects.messages)
