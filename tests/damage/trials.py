"""Trials: copies of a job's folders, one damage each, many in a child process, so that a crash is seen and costs nobody else."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from damage.damages import DAMAGES
from damage.job import STAGES, begin, go_on, played
from sash.errors import SashError

GROUP = 50  # trials of a child
PATIENCE = 600  # seconds for a group
WITHIN = ("point", "out")  # folders whose files are damaged: checkpoint and outputs
NAMES = ("stopped", "killed")


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
    """A job that has run, in all the ways in which it can be found, and what it says when it goes on undisturbed."""

    def __init__(self, within: tuple[str, ...] = WITHIN) -> None:
        self.within = within
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.base = Path(tempfile.mkdtemp(prefix="sash-damage-", dir=place))
        with played(self.base):
            begin(self.base, self.base / "job")
            self.expected = {}
            for name in NAMES:
                shutil.copytree(self.base / f"job-{name}", self.base / f"calm-{name}")
                self.expected[name] = go_on(self.base, self.base / f"calm-{name}")

    def close(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)

    def play(self, seeds: range) -> Summary:
        summary = Summary()
        for first in range(seeds.start, seeds.stop, GROUP):
            self._play_group(range(first, min(first + GROUP, seeds.stop)), summary)
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
        folder = self.base / f"trial-{seed}"
        chance = random.Random(seed)
        name = chance.choice(NAMES)
        shutil.copytree(self.base / f"job-{name}", folder)
        try:
            what = self._damage(folder, chance)
            try:
                told = go_on(self.base, folder)
            except SashError as error:
                return what, "refused" if error.hint else "unclear", _general(str(error), folder)
            except Exception:
                return what, "raw", traceback.format_exc()
            wrong = [key for key, text in self.expected[name].items() if told.get(key) != text]
            if wrong:
                return what, "wrong", f"{wrong[0]}\nexpected\n{self.expected[name][wrong[0]]}\nactual\n{told.get(wrong[0])}"
            return what, "exact", ""
        finally:
            shutil.rmtree(folder)

    def _is_ours(self, path: Path) -> bool:
        """Spark's own log is Spark's."""
        return path.parts[0] in self.within and path.parts[:2] != ("point", "spark") and path.name != ".run.lock"

    def damaged(self, seed: int) -> str:
        """What a trial damages, and how; nothing is run."""
        folder, chance = self.base / f"trial-{seed}", random.Random(seed)
        shutil.copytree(self.base / f"job-{chance.choice(NAMES)}", folder)
        try:
            return self._damage(folder, chance)
        finally:
            shutil.rmtree(folder)

    def _damage(self, folder: Path, chance: random.Random) -> str:
        files = sorted(path for path in folder.rglob("*") if path.is_file() and self._is_ours(path.relative_to(folder)))
        kinds = sorted({_kind(path.relative_to(folder)) for path in files})
        damage = chance.choice(DAMAGES)
        while True:  # until there is something that it can be done to
            kind = chance.choice(kinds)  # rare ones as often as others
            file = chance.choice([path for path in files if _kind(path.relative_to(folder)) == kind])
            inside = file.relative_to(folder)
            older = [self.base / f"job-{stage}" / inside for stage in range(STAGES)]
            if file.stat().st_size and damage(file, chance, files, older):
                return f"{kind} {damage.__name__}"


def _kind(path: Path) -> str:
    """The folder that it is in, whatever the numbers."""
    parts = [part for part in path.parts[:-1] if not part.isdigit()]
    return "/".join(parts if len(parts) > 1 else [*parts, path.name])


def _general(message: str, folder: Path) -> str:
    import re

    return re.sub(r"[0-9a-f]{8,}|\d+", "N", message.replace(str(folder), ""))[:160]
