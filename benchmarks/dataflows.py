"""Sash beside incremental dataflows in Rust, for now differential dataflow: one worker each, in turns, over the same rows.

A peer is a program of its own (`peers/dataflows/`), built with cargo when it is asked for, that plays steps when it is told.
It is fed with what enters its windows and what leaves them; Sash is pushed what enters. Both deliver the changes of every instant
to a reader in their process, the same ones, checked by number and checksum in every turn. CPU time of the process, over windows
that are full; ratios are of one turn.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.public import JOINS, WORKLOADS, Step, Workload, steps, strict_input
from benchmarks.report import Options, Report, span
from benchmarks.windows import GAP
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Int64s
from sash.errors import SashError

NAMES = ("differential",)
SOURCES = Path(__file__).parent / "peers" / "dataflows"
BATCH = 10_000  # rows of every stream in a step
STEPS, TURNS, QUICK_TURNS = 10, 7, 3
HISTORY = "4 MB"  # of changes: full before anything is measured
COLUMNS = ("workload: system", "Sash is faster by", "95 % of turns' mean", "ns/row", "Sash ns/row", "changes/row")
T = (0.0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)  # Student's, of 95 %, by degrees of freedom


def same_everywhere(workload: Workload) -> Workload:
    """Where sums are equal, keys decide who is among the first, in every system."""
    return replace(workload, sql=tuple(sql.replace("ORDER BY s DESC", "ORDER BY s DESC, k") for sql in workload.sql))


Uint64s = np.ndarray[tuple[int], np.dtype[np.uint64]]
JOBS = tuple(same_everywhere(one) for one in (*WORKLOADS, JOINS))
WINDOWS = {JOINS.name: tuple(int(sql.split("[RANGE ")[1].split()[0]) for sql in JOINS.sql)}  # microseconds; others have one each


@dataclass(frozen=True)
class Sums:
    """How many rows come and go once changes of the same row at the same instant are one, and a checksum over them."""

    changes: int
    checksum: int

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.changes + other.changes, (self.checksum + other.checksum) % 2**64)


@dataclass(frozen=True)
class Played:
    """What steps took, and what they gave."""

    seconds: float
    rows: int
    sums: Sums


@dataclass(frozen=True)
class Measured:
    """Nanoseconds of a row in every turn."""

    workload: str
    peer: str
    sash: list[float]
    theirs: list[float]
    changes: float  # a row, as the peer gives them

    @property
    def ratios(self) -> list[float]:
        return [theirs / mine for mine, theirs in zip(self.sash, self.theirs, strict=True)]

    @property
    def line(self) -> list[str]:
        low, high = interval(self.ratios)
        return [
            f"{self.workload}: {self.peer}", span(self.ratios, ".2f"), f"{low:.2f} to {high:.2f}" if high < math.inf else "-",
            span(self.theirs), span(self.sash), f"{self.changes:.1f}",
        ]

    @property
    def numbers(self) -> dict[str, object]:
        return {**asdict(self), "ratio": statistics.median(self.ratios), "interval": interval(self.ratios)}


class Program:
    """A peer that runs and waits to be told how many steps to play."""

    def __init__(self, program: Path, workload: Workload, folder: Path) -> None:
        windows = WINDOWS.get(workload.name, (workload.window * GAP,))
        self._name = program.name
        words = [str(program), workload.name, str(folder), str(BATCH), *map(str, windows)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def play(self, count: int) -> Played:
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{count}\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SashError(f"{self._name} ended with {self._process.wait()}")
        told = json.loads(line)
        return Played(told["nanoseconds"] / 1e9, told["rows"], Sums(told["changes"], told["checksum"]))


class Sash:
    """What a user calls: rows pushed, changes read as Arrow batches after every push."""

    def __init__(self, workload: Workload) -> None:
        self._db = EmbeddedDatabase(history=HISTORY)
        self._db.execute(workload.statements)
        self._streams = ("a", "b")[: workload.streams]
        views = [f"answer{number}" for number in range(len(workload.sql))]
        self._subscriptions = [self._db.subscribe(view, timeout=0) for view in views]
        self._end = 0  # of the last step: what happens then belongs to the next one
        self._read: list[list[pa.RecordBatch]] = [[] for _ in views]

    def play(self, work: Sequence[Step]) -> float:
        """CPU seconds."""
        started = time.process_time()
        for step in work:
            for name, batch in zip(self._streams, step.batches, strict=True):
                self._db.push(name, batch)
                for subscription, read in zip(self._subscriptions, self._read, strict=True):
                    read += subscription
        spent = time.process_time() - started
        self._end = min(int(lines[-1, 0]) for lines in work[-1].lanes)
        return spent

    def take(self) -> Sums:
        """Of all that was read since it was asked last."""
        found = Sums(0, 0)
        for view, read in enumerate(self._read):
            weights, instants, rows = lanes(read)
            if len(instants) and instants.max() >= self._end:
                raise SashError("a change was read that does not belong to the steps so far")
            found += sums(weights, mixed(view, instants, rows))
            read.clear()
        return found


def lanes(batches: Sequence[pa.RecordBatch]) -> tuple[Int64s, Int64s, list[Int64s]]:
    """Weights, instants and the columns of all batches, as integers; medians are doubled, which makes them whole."""
    if not batches:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), []
    weights, instants, *columns = pa.Table.from_batches(batches).columns
    return weights.to_numpy().astype(np.int64), instants.cast(pa.int64()).to_numpy(), [_integers(column) for column in columns]


def _integers(column: pa.ChunkedArray) -> Int64s:
    values = column.to_numpy()
    return np.asarray(2 * values if pa.types.is_floating(column.type) else values).astype(np.int64)


def mixed(view: int, instants: Int64s, rows: Sequence[Int64s]) -> Uint64s:
    """A number for every change, as the peers make it."""
    state = instants.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(view)
    for column in rows:
        state = (state ^ column.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(29)
    return state


def sums(weights: Int64s, numbers: Uint64s) -> Sums:
    """Changes with the same number are one."""
    _, places = np.unique(numbers, return_inverse=True)
    net = np.bincount(places, weights) if len(places) else np.zeros(0)
    return Sums(int(np.abs(net).sum()), int((numbers * weights.astype(np.uint64)).sum(dtype=np.uint64)))


def run(peers: Sequence[str], options: Options) -> Iterator[Report]:
    """One table of all workloads; a peer that cannot be built is left out, with the reason."""
    turns = options.repeat or (QUICK_TURNS if options.quick else TURNS)
    programs, notes = programs_of(peers, options)
    found = []
    for workload in JOBS if programs else ():
        options.say(f"{workload.name}: {', '.join(programs)}")
        found += measure(workload, programs, turns)
    title = f"Beside incremental dataflows, {BATCH:,} rows a step, windows of 60 s, one worker each, {turns} turns, CPU time"
    yield Report(title, COLUMNS, [one.line for one in found], [one.numbers for one in found], notes)


def programs_of(peers: Sequence[str], options: Options) -> tuple[dict[str, Path], list[str]]:
    """Programs by their peers, built where they are not yet, and why others are not there."""
    programs, notes = {}, []
    for peer in peers:
        try:
            programs[peer] = built(peer, options)
        except SashError as error:
            notes.append(f"{peer}: {error}")
    return programs, notes


def built(peer: str, options: Options) -> Path:
    """The program, built in release mode into the user's cache; cargo knows what there is already."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise SashError("there is no cargo, which builds it", "see https://rustup.rs")
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sash" / "peers" / "dataflows"
    options.say(f"building {peer} into {home} (once; some minutes)")
    words = [cargo, "build", "--release", "--locked", "--package", f"{peer}-peer", "--target-dir", str(home)]
    done = subprocess.run(words, cwd=SOURCES, capture_output=True, text=True, check=False)
    if done.returncode:
        wrong = [line for line in done.stderr.splitlines() if line.startswith("error")] or ["no message"]
        raise SashError(f"could not be built: {wrong[0][:200]}")
    return home / "release" / f"{peer}-peer"


def measure(workload: Workload, programs: dict[str, Path], turns: int = TURNS, count: int = STEPS) -> list[Measured]:
    """Sash and every peer in turns, `count` steps each, once the windows are full."""
    filling = 2 + workload.window // BATCH
    input_ = strict_input(workload, (filling + (turns + 1) * count) * BATCH)
    work, sash = steps(input_, 0, len(input_.rows[0]), BATCH), Sash(workload)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sash-dataflows-")))
        for name, rows in zip("ab", input_.rows, strict=False):
            (folder / f"{name}.rows").write_bytes(rows[:, :3].astype("<i8").tobytes())
        running = {peer: stack.enter_context(Program(program, workload, folder)) for peer, program in programs.items()}
        turn(workload, sash, running, list(islice(work, filling)))
        turn(workload, sash, running, list(islice(work, count)))  # for what must grow
        played = [turn(workload, sash, running, list(islice(work, count))) for _ in range(turns)]
    return [
        Measured(
            workload.name, peer, [_nanoseconds(turn["sash"]) for turn in played], [_nanoseconds(turn[peer]) for turn in played],
            sum(turn[peer].sums.changes for turn in played) / sum(turn[peer].rows for turn in played),
        )
        for peer in programs
    ]


def turn(workload: Workload, sash: Sash, programs: dict[str, Program], work: Sequence[Step]) -> dict[str, Played]:
    """Everybody plays the same steps, and must give the same."""
    seconds, mine = sash.play(work), sash.take()
    played = {peer: program.play(len(work)) for peer, program in programs.items()}
    for peer, one in played.items():
        if one.sums != mine:
            raise SashError(f'"{workload.name}": {peer} gives {one.sums}, Sash {mine}')
    return {"sash": Played(seconds, sum(step.rows for step in work), mine), **played}


def _nanoseconds(played: Played) -> float:
    return 1e9 * played.seconds / played.rows


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Of the turns' geometric mean, with 95 % confidence; of few turns it is wide, of one it is everything."""
    if len(ratios) < 2:
        return 0.0, math.inf
    logs = [math.log(ratio) for ratio in ratios]
    t = T[len(logs) - 1] if len(logs) <= len(T) else T[-1]
    middle, half = statistics.fmean(logs), t * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle - half), math.exp(middle + half)
