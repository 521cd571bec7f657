"""All benchmarks by name. A benchmark is a module with `run(options)`, which gives reports, imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.report import Options, Report


@dataclass(frozen=True)
class Benchmark:
    """`in_suite` ones run when no name is given."""

    name: str
    module: str
    what: str
    in_suite: bool = False

    def run(self, options: Options) -> Iterable[Report]:
        run: Callable[[Options], Iterable[Report]] = importlib.import_module(self.module).run
        return run(options)


BENCHMARKS = (
    Benchmark("engine", "benchmarks.engine", "the engine on one core against bare loops: usual workloads", in_suite=True),
    Benchmark("public", "benchmarks.public", "what a user pays: push in, changes out, against the engine alone", in_suite=True),
    Benchmark("pipeline", "benchmarks.pipeline", "Sash on Spark against a pipeline without an engine", in_suite=True),
    Benchmark("traffic", "benchmarks.traffic", "the queries of the demo against reading their rows alone", in_suite=True),
    Benchmark("patterns", "benchmarks.patterns_report", "expiry strategies against each other, over two kinds of stores"),
    Benchmark("queries", "benchmarks.queries", "queries that are added one by one while rows come, equal and different ones"),
    Benchmark("asking", "benchmarks.asking", "look-ups while rows flow in: in the process, over the wire, by indexes"),
    Benchmark("indexes", "benchmarks.indexes", "questions by every index that could serve them, beside the one that is chosen"),
    Benchmark("medians", "benchmarks.medians", "fifty percentiles of one column over one window, against one of them"),
    Benchmark("joins", "benchmarks.shared_joins", "joins over eight windows: together, apart, the largest alone, a bare loop"),
    Benchmark("conditions", "benchmarks.conditions", "a hundred views over one join that differ in WHERE: above it, and below"),
    Benchmark("schedules", "benchmarks.join_schedules", "schedules of a shared join after a burst: response and cost"),
    Benchmark("aggregates", "benchmarks.aggregates", "a thousand aggregates over windows that slide: together, each by itself"),
    Benchmark("windows", "benchmarks.windows", "the engine against bare loops over windows of growing size", in_suite=True),
    Benchmark("slides", "benchmarks.slides", "the engine against a bare loop over windows of growing slides", in_suite=True),
    Benchmark("graph", "benchmarks.graph", "schedules and time on demand: the experiments of the query graph's paper"),
    Benchmark("batches", "benchmarks.batches", "small batches on Spark against an empty pipeline", in_suite=True),
    Benchmark("kafka", "benchmarks.kafka", "a job through Kafka against a plain job of Spark's that writes as many rows"),
    Benchmark("peers", "benchmarks.comparing", "Sash on Spark beside Spark's own streams and other systems (see --peers)"),
)


def choose(names: tuple[str, ...]) -> list[Benchmark]:
    """The named ones, or the suite."""
    return [benchmark for benchmark in BENCHMARKS if benchmark.name in names or (not names and benchmark.in_suite)]
