"""The answers of a Spark host's views, as far as batches have told them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from sash.planner.job import Job, View
from sash.runtime.live import LiveView
from sash.runtime.packets import Cargo, Packet
from sash.spark.trials import is_trial, shown, trial_of
from sash.spark.versions import Facts, Versions


class Answers:
    """A live answer for every view of a job, and for every trial; none before `begin`."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self.live: dict[str, LiveView] = {}

    def begin(self, job: Job, batch: int) -> None:
        """The first time, take what is on record of the batches before this one."""
        if not self.live:
            self.live = {view.name: LiveView(view.schema) for view in job.views}
            for view in shown(job):
                self._versions.ledger.restore(view, self.live[view.name], batch - 1)

    def adopt(self, before: Job, job: Job, batch: int, facts: Facts, on_trial: Callable[[View, Facts], None]) -> None:
        """From this batch on another job runs; `on_trial` is told of every new trial."""
        had = {view.name: view for view in before.views}
        self._versions.ledger.end_views(before, job, batch)
        for view in job.views:
            if is_trial(view.name):
                self.live.setdefault(view.name, LiveView(view.schema))
                if view.name not in had:
                    on_trial(view, facts)
            elif had.get(view.name) != view and not _took_over(view, had):
                self.live[view.name] = self._versions.first_answer(view, before, batch, facts)
        self.live = {view.name: self.live[view.name] for view in job.views}

    def take(self, job: Job, told: Iterable[Packet]) -> None:
        """Add the net changes of a batch."""
        for packet in told:
            if packet.cargo is Cargo.NET:
                for name in job.names_like(packet.name):
                    self.live[name].add(pa.Table.from_batches([packet.batch()]))


def _took_over(view: View, had: Mapping[str, View]) -> bool:
    """Whether a view goes on with the operators of its trial: it holds what it held."""
    trial = had.get(trial_of(view.name))
    return view.name in had and trial is not None and trial.spec == view.spec
