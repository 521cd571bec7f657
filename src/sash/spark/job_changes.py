"""Changes of a job: what the job is to be from the next batch on, and who may say so.

Statements of the user change it, and so do better plans, which are tried first. Every change is a version, and the event that
brings it. One at a time may ask; what runs follows when the batch of the event does (`host.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping

from sash.planner.choose import Choice
from sash.planner.job import Job, View
from sash.runtime.live import LiveView
from sash.spark.checkpoint import JOB, Checkpoint, events_after
from sash.spark.jobs import job_file
from sash.spark.offsets import newest_offset
from sash.spark.sealed import MissingFile
from sash.spark.shard_task import LEVELS, SINCE
from sash.spark.trials import Trials, has_trials, with_trials, without_trials
from sash.spark.versions import Facts, Versions


class JobChanges:
    """The versions of a job, from the side of those who ask for them."""

    def __init__(self, job: Job, checkpoint: Checkpoint, versions: Versions, frames: Collection[str]) -> None:
        self.lock = threading.RLock()  # held by who asks
        self.first = self.newest = job  # as the checkpoint began; as it was last asked for
        self._checkpoint = checkpoint
        self._versions = versions
        self._frames = frames
        self._trials = Trials()
        self._wanted: dict[str, Choice] = {}  # how the views that are tried would run
        self._choices: dict[str, Choice] = {}  # how the views that were planned anew run
        if number := self._on_record():
            version = versions.read(number)
            self.first, self.newest = versions.read(0).job, version.job
            self._choices = dict(version.choices)

    def choice_of(self, view: str) -> Choice | None:
        """How a view runs, if it was planned anew."""
        return self._choices.get(view)

    def begin(self) -> None:
        """A query is about to start: what an earlier one tried is given up, and what it put down without asking is asked for."""
        with self.lock:
            if (number := self._versions.newest) > self._asked():
                self._ask(number, self._versions.read(number - 1).job, self._versions.read(number).tables)
            if not self._trials.since:
                self._end_trials()

    def change(
        self, make: Callable[[Job], Job], sql: str, fresh: Job, files: Mapping[str, str], on_change: Callable[[Job, Job], None]
    ) -> int:
        """Ask for what is made of the newest job; `on_change` is told both before anybody runs the new one. Its number."""
        with self.lock:
            self._end_trials()
            before, job = self.newest, make(self.newest)
            self._choices = {name: choice for name, choice in self._choices.items() if _is_kept(name, before, job)}
            on_change(before, job)
            return self._ask_for(job, sql, fresh, files)

    def try_plans(self, found: Mapping[View, Choice]) -> None:
        """Let other plans run beside those of views; in a later batch they take over, if they give the same."""
        with self.lock:
            job = with_trials(self.newest, found, self._frames)
            if job != self.newest:
                self._wanted = {view.name: choice for view, choice in found.items()}
                self._ask_for(job)

    def trial_runs(self, trial: View, facts: Facts) -> None:
        """The first batch of a trial is over; one that has been given up meanwhile is of no interest."""
        if trial in self.newest.views:
            self._trials.begin(trial.name, [fact[f"{SINCE}{trial.name}"] for fact in facts if f"{SINCE}{trial.name}" in fact])

    def think(self, clocks: Iterable[int | None], live: Mapping[str, LiveView], look: Callable[[], None] | None) -> None:
        """After a batch: let trials come to their ends, and look for better plans; not while somebody changes the job."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            over = self._trials.judged(min(clock for clock in clocks if clock is not None), live) if self._trials.since else {}
            if over:
                self._conclude({name for name, is_exact in over.items() if is_exact}, over)
            elif look is not None and not has_trials(self.newest):
                look()
        finally:
            self.lock.release()

    def _conclude(self, exact: set[str], over: Collection[str]) -> None:
        self._choices |= {name: self._wanted[name] for name in exact}
        self._trials.end(over)
        self._ask_for(without_trials(self.newest, exact, over))

    def _end_trials(self) -> None:
        """What is tried is given up."""
        self._trials = Trials()
        if has_trials(self.newest):
            self._ask_for(without_trials(self.newest))

    def _ask_for(self, job: Job, sql: str = "", fresh: Job | None = None, files: Mapping[str, str] | None = None) -> int:
        """Put a version of the job down, then the event that brings it; its number."""
        self._on_record()
        before, self.newest = self.newest, job
        number = self._versions.add(before, job, sql, fresh, self._choices, files or {})
        self._ask(number, before, files or {})
        return number

    def _on_record(self) -> int:
        """The newest version there is; an error if a later one was asked for, whose number the next statement would take."""
        number = self._versions.newest
        if (asked := self._asked()) > number:
            raise MissingFile(*job_file(self._checkpoint.folder, asked))
        return number

    def _asked(self) -> int:
        """The last version that was asked for, taken up or not."""
        folder = self._checkpoint.folder
        begun = newest_offset(folder)
        asked: list[int] = [event.get(JOB, 0) for event in events_after(folder, begun.seen)]
        return max(begun.job, *asked, 0)

    def _ask(self, number: int, before: Job, tables: Mapping[str, str]) -> None:
        """Let a version that is on record follow the one before it."""
        self._checkpoint.ask({JOB: number, LEVELS: before.levels, "tables": dict(tables)})


def _is_kept(name: str, before: Job, job: Job) -> bool:
    """Whether a view goes on as it was."""
    return any(view.name == name and view in before.views for view in job.views)
