"""Trials: another plan of a view runs beside the one it has, until it is known to give the same.

    version N       the view, and a trial of it: its operators begin with the rows in memory, or with those that come
    version N + 1   the view on the operators of the trial, which have seen their windows whole and hold the same answer;
                    or the view as it was, where that never happens

Both are versions of the job like any other (`versions.py`), so a restart meets them at the same place. A trial writes no changes:
up to version N + 1 those of the view come from its old operators, then from the new ones; none is lost or told twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sash.planner.job import Job, View
from sash.runtime.live import LiveView
from sash.schema import FOREVER

MARK = "\x00"  # ends the name of a trial; no name of a user's does


def trial_of(view: str) -> str:
    return view + MARK


def is_trial(view: str) -> bool:
    return view.endswith(MARK)


def shown(job: Job) -> list[View]:
    """The views that users know of."""
    return [view for view in job.views if not is_trial(view.name)]


def has_trials(job: Job) -> bool:
    return any(is_trial(view.name) for view in job.views)


def with_trials(job: Job, views: Iterable[View], frames: Collection[str]) -> Job:
    """Let other plans of views run beside them, where that can come to an end without another query of Spark's."""
    for view in views:
        tried = job.with_view(replace(view, name=trial_of(view.name)), job.streams)
        if _can_be_tried(job, view) and _needs_no_more(job, tried, frames):
            job = tried
    return job


def without_trials(job: Job, exact: Collection[str] = (), over: Collection[str] | None = None) -> Job:
    """End trials, those of the views `over` or all; the views that are `exact` go on with the operators of theirs."""
    for trial in [view for view in job.views if is_trial(view.name)]:
        name = trial.name.removesuffix(MARK)
        if over is not None and name not in over:
            continue
        if name in exact and _is_alone(job, name):
            views = [replace(trial, name=name) if one.name == name else one for one in job.views if one is not trial]
            job = replace(job.without_view(name), views=tuple(views))
        else:
            job = job.without_view(trial.name)
    return job


def _can_be_tried(job: Job, view: View) -> bool:
    """What EMIT EVERY holds back is in no answer, so nobody could tell whether it is the same."""
    is_new = all(one.spec != view.spec and one.name != trial_of(view.name) for one in job.views)
    return is_new and _is_alone(job, view.name) and not view.spec.is_held_back


def _is_alone(job: Job, name: str) -> bool:
    """Whether the view is there, and no other has its spec."""
    specs = [view.spec for view in job.views]
    return any(view.name == name and specs.count(view.spec) == 1 for view in job.views)


def _needs_no_more(job: Job, tried: Job, frames: Collection[str]) -> bool:
    """Levels and DataFrames are part of the query; and the rows of a table go only to ports that were there when they came."""
    fixed = {stream.name for stream in job.streams if stream.is_table} | set(frames)
    added = {port.stream for port in tried.ports if port not in job.ports}
    return tried.levels == job.levels and not added & fixed


@dataclass
class Trials:
    """Those that run: from when on each is complete, None: never."""

    since: dict[str, int | None] = field(default_factory=dict)

    def begin(self, trial: str, told: Iterable[int | None]) -> None:
        """What the levels told; FOREVER stands for never."""
        latest = max((FOREVER if moment is None else moment for moment in told), default=FOREVER)
        self.since[trial.removesuffix(MARK)] = None if latest == FOREVER else latest

    def end(self, names: Iterable[str]) -> None:
        for name in names:
            self.since.pop(name, None)

    def judged(self, clock: int, live: Mapping[str, LiveView]) -> dict[str, bool]:
        """The trials that are over, and whether they gave what their views have."""
        over = {}
        for name, since in self.since.items():
            is_there = name in live and trial_of(name) in live
            if since is None or not is_there:
                over[name] = False
            elif since <= clock:
                over[name] = live[trial_of(name)].rows().equals(live[name].rows())
        return over
