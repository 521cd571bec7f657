"""What the driver learns of a run: what its operators did, and what its streams are like.

    tasks that read     samples of their rows, one packet for every stream
    shards              metrics of their operators in this batch, and of negations how many rows left early

All of it can be added, whoever tells it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sash.plan.statistics import Statistics
from sash.planner.explain import Counts
from sash.planner.job import Job
from sash.runtime.metrics import JobMetrics
from sash.runtime.observing import StreamObserver, counted, observed, shares_let_through
from sash.runtime.packets import Cargo, Packet
from sash.scalar.failures import Failures
from sash.schema import SECOND
from sash.spark.moves import Moves
from sash.spark.shard_task import FIRST, GREATEST, LOST, METRICS
from sash.spark.share_packets import SAMPLE
from sash.spark.trials import shown


class Watch:
    """Adds up what is told, batch by batch."""

    def __init__(self, job: Job) -> None:
        self._metrics = JobMetrics()
        self._observers: dict[str, StreamObserver] = {}
        self._spans: dict[str, tuple[int, int]] = {}  # of every stream: its first and its greatest timestamp
        self._early: dict[str, tuple[int, int]] = {}
        self._lost: dict[str, Counter[str]] = {}  # of every stream: rows that were late, or could not be read
        self.failures = Failures()
        self.moves = Moves()
        self.use(job)

    def use(self, job: Job) -> None:
        """Watch this job from now on; operators that it has no more are forgotten."""
        self._observers = {one.name: self._observers.get(one.name) or StreamObserver(one) for one in job.streams}
        self._metrics.keep(view.spec for view in job.views)

    def observe(self, told: Iterable[Packet], facts: Iterable[Mapping[str, int | None]], seconds: float) -> None:
        """Every change of a batch took as long as the batch."""
        told = list(told)
        self.moves.observe(told)
        for packet in told:
            if packet.cargo is Cargo.FACTS and packet.name == METRICS:
                self._measure(packet, seconds)
            elif packet.cargo is Cargo.FACTS and packet.name == SAMPLE:
                sample = packet.told()
                if sample["stream"] in self._observers:
                    self._observers[sample["stream"]].merge(sample)
        for fact in facts:
            for name in self._observers:
                first, last = fact.get(f"{FIRST}{name}"), fact.get(f"{GREATEST}{name}")
                if first is not None and last is not None:
                    had = self._spans.get(name, (first, last))
                    self._spans[name] = (min(first, had[0]), max(last, had[1]))
                for what, prefix in LOST.items():
                    self._lost.setdefault(name, Counter())[what.name.lower()] += fact.get(f"{prefix}{name}") or 0

    def _measure(self, packet: Packet, seconds: float) -> None:
        told = packet.told()
        self._metrics.tell((packet.port, packet.shard), told["operators"])
        for name, count in told["changes"].items():
            view = self._metrics.view(name)
            view.changes += count
            view.wall.add(np.array([int(seconds * SECOND)]), count)
        for reason, count, example in told["failures"]:
            self.failures.count(reason, count, example)
        for id_, (early, left) in told["early"].items():
            had = self._early.get(id_, (0, 0))
            self._early[id_] = (had[0] + early, had[1] + left)

    def figures(self, job: Job) -> dict[str, Any]:
        """What operators, arcs and views have done, as plain data."""
        figures = self._metrics.figures({view.name: view.spec for view in shown(job)})
        lost = {one.name: {"late": 0, "dead": 0, **self._lost.get(one.name, {})} for one in job.streams}
        return figures | {"streams": lost, "shards": self.moves.figures()}

    def look_afresh(self) -> None:
        """From now on statistics are about rows that are still to come."""
        for name, one in self._observers.items():
            if name in self._spans and not one.spec.is_table:
                self._observers[name] = StreamObserver(one.spec, self._spans[name][1])

    def statistics(self) -> Statistics:
        """What is known of the streams and operators by now."""
        begins = {name: one.since for name, one in self._observers.items()}
        spans = {name: span for name, span in self._spans.items() if name in begins}
        seconds = {name: (last - (begins[name] or first)) / SECOND for name, (first, last) in spans.items()}
        return observed(self._observers.values(), seconds, self._metrics.operators(), self._shares, self._elapsed)

    def shares(self) -> dict[str, float]:
        """Of the rows that filters were given, how many they let through."""
        return shares_let_through(self._metrics.operators())

    def counted(self) -> dict[str, Counts]:
        """What every operator has done, over all shards, for every second of the streams' time."""
        return counted(self._metrics.operators(), self._shares, self._elapsed)

    @property
    def _shares(self) -> dict[str, float]:
        return {id_: early / left for id_, (early, left) in self._early.items() if left}

    @property
    def _elapsed(self) -> float:
        """Seconds of the streams' time so far."""
        spans = self._spans.values()
        return (max(last for _, last in spans) - min(first for first, _ in spans)) / SECOND if spans else 0.0
