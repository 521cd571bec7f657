"""Trials: copies of a job's folders, one damage each, many in a child process, so that a crash is seen and costs nobody else."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import random
import re
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from damage.damages import DAMAGES
from damage.job import STAGES, STORIES, Moment, begin, go_on, played
from sash.errors import SashError

GROUP = 50  # trials of a child
PATIENCE = 600  # seconds for a group
WITHIN = ("point", "out")  # folders whose files are damaged: checkpoint and outputs
ENDS = ("stopped", "killed", "stopped", "killed", "finished")
MOMENTS = (Moment.BEFORE, Moment.BEFORE, Moment.BEFORE, Moment.EARLY, Moment.RUNNING, Moment.BETWEEN)
ARENAS = "arenas"  # the kind of what lies beside the checkpoint, while the job runs
ARENAS_SHARE = 0.12  # of the trials


@dataclass
class Summary:
    """What came of trials."""

    exact: Counter[str] = field(default_factory=Counter)  # by the kind of the file and the damage
    refused: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)  # by seed
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, seed: int, what: str, result: str, reason: str) -> None:
        if result == "exact":
            self.exact[what] += 1
        elif result == "refused":
            self.refused[what] += 1
            self.reasons[reason] += 1
        else:
            self.wrong[seed] = f"{what}: {result}: {reason}"

    @property
    def total(self) -> int:
        return self.exact.total() + self.refused.total() + len(self.wrong)


class Field:
    """Jobs that have run, in all the ways in which they can be found, and what they say when they go on undisturbed."""

    def __init__(self, within: tuple[str, ...] = WITHIN) -> None:
        self.within = within
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.base = Path(tempfile.mkdtemp(prefix="sash-damage-", dir=place))
        self.expected = {}
        with played(self.base):
            for story in STORIES.values():
                folder = self.base / story.name / "job"
                begin(story, folder)
                for end in dict.fromkeys(ENDS):
                    calm = _copied(Path(f"{folder}-{end}"), Path(f"{folder}-{end}-calm"))
                    self.expected[story.name, end] = go_on(story, calm)
        gc.collect()
        gc.freeze()  # children have little else to look through

    def close(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)

    def play(self, seeds: range, on_group: Callable[[Summary], None] = lambda summary: None) -> Summary:
        summary = Summary()
        for first in range(seeds.start, seeds.stop, GROUP):
            self._play_group(range(first, min(first + GROUP, seeds.stop)), summary)
            on_group(summary)
        return summary

    def _play_group(self, seeds: range, summary: Summary) -> None:
        """A group that dies is gone on with after the trial that it died of."""
        while seeds:
            mine, theirs = multiprocessing.get_context("fork").Pipe(duplex=False)
            child = multiprocessing.get_context("fork").Process(target=self._play_in_child, args=(seeds, theirs))
            child.start()
            theirs.close()
            for seed in seeds:
                try:
                    result = json.loads(mine.recv_bytes()) if mine.poll(PATIENCE) else ["?", "hung", "it never ended"]
                except EOFError:
                    child.join()
                    result = ["?", "crash", f"the process ended with {child.exitcode}"]
                summary.add(seed, *result)
                seeds = range(seed + 1, seeds.stop)
                if result[1] in ("crash", "hung"):
                    break
            if child.is_alive() and seeds:
                child.kill()
            child.join()

    def _play_in_child(self, seeds: range, pipe: Connection) -> None:
        with played(self.base):
            for seed in seeds:
                pipe.send_bytes(json.dumps(self.trial(seed)).encode())

    def trial(self, seed: int) -> tuple[str, str, str]:
        """What was damaged and how; what came of it; why."""
        trial = Trial(self, seed)
        try:
            return trial.play()
        finally:
            shutil.rmtree(trial.folder)

    def damaged(self, seed: int) -> str:
        """What a trial damages, and how, if it damages it before the restart; nothing is run."""
        trial = Trial(self, seed)
        try:
            return trial.damage(trial.folder, self.within)
        finally:
            shutil.rmtree(trial.folder)


class Trial:
    """A copy of a job, and what happens to it."""

    def __init__(self, field: Field, seed: int) -> None:
        chance = self._chance = random.Random(seed)
        self._story, self._end = STORIES[chance.choice(sorted(STORIES))], chance.choice(ENDS)
        self._field = field
        self._base = field.base / self._story.name
        self.folder = _copied(self._base / f"job-{self._end}", self._base / f"job-{self._end}-{seed}")
        is_running = self._end != "finished"
        self._is_of_arenas = is_running and chance.random() < ARENAS_SHARE
        self._moment = Moment.RUNNING if self._is_of_arenas else chance.choice(MOMENTS) if is_running else Moment.BEFORE
        self._what = "nothing"

    def play(self) -> tuple[str, str, str]:
        """What was damaged and how; what came of it; why."""
        expected = self._field.expected[self._story.name, self._end]
        try:
            told = go_on(self._story, self.folder, self._happens)
        except SashError as error:
            return self._what, "refused" if error.hint else "unclear", _general(str(error), self.folder)
        except Exception:
            return self._what, "raw", traceback.format_exc()
        wrong = [key for key in [*expected, *told] if told.get(key) != expected.get(key)]
        if wrong:
            return self._what, "wrong", f"{wrong[0]}\nexpected\n{expected.get(wrong[0])}\nactual\n{told.get(wrong[0])}"
        return self._what, "exact", ""

    def _happens(self, moment: Moment, arenas: Path) -> None:
        if self._is_of_arenas and moment is Moment.EARLY:
            shutil.copytree(arenas, self.folder / ARENAS)
        if moment is self._moment:
            self._what = self._damage_arenas(arenas) if self._is_of_arenas else self.damage(self.folder, self._field.within)

    def _damage_arenas(self, arenas: Path) -> str:
        files = sorted(path for path in arenas.iterdir() if path.suffix != ".lock")
        return f"{ARENAS}/{self._damage(files, lambda file: file.suffix, lambda file: [self.folder / ARENAS / file.name])}"

    def damage(self, folder: Path, within: tuple[str, ...]) -> str:
        """Something happens to a file in these folders."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and _is_ours(path.relative_to(folder), within)]
        stages = [self._base / f"job-{stage}" for stage in range(STAGES)]
        return self._damage(
            files, lambda file: _kind(file.relative_to(folder)),
            lambda file: [stage / file.relative_to(folder) for stage in stages],
        )  # fmt: skip

    def _damage(self, files: list[Path], kind_of: Callable[[Path], str], older: Callable[[Path], list[Path]]) -> str:
        """Rare kinds of files as often as others."""
        chance, kinds = self._chance, sorted({kind_of(file) for file in files})
        damage = chance.choice(DAMAGES)
        while True:  # until there is something that it can be done to
            kind = chance.choice(kinds)
            file = chance.choice([file for file in files if kind_of(file) == kind])
            if file.stat().st_size and damage(file, chance, files, older(file)):
                return f"{kind} {damage.__name__}"


def _copied(folder: Path, target: Path) -> Path:
    """Links do: whoever writes a file of a checkpoint, or of an output, writes it anew."""
    shutil.copytree(folder, target, copy_function=os.link)
    return target


def _is_ours(path: Path, within: tuple[str, ...]) -> bool:
    """Spark's own log is Spark's; what begins with a dot is a lock, or was never finished."""
    return path.parts[0] in within and path.parts[:2] != ("point", "spark") and not path.name.startswith(".")


def _kind(path: Path) -> str:
    """The folder that it is in, whatever the numbers."""
    parts = [part for part in path.parts[:-1] if not part.isdigit()]
    return "/".join(parts if len(parts) > 1 else [*parts, path.name])


def _general(message: str, folder: Path) -> str:
    return re.sub(r"[0-9a-f]{8,}|\d+", "N", message.replace(str(folder), ""))[:160]
