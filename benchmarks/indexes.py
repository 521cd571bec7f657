"""Whether the planner chooses the best structure: questions about a window that changes, by every index that could serve them.

    1,000 rows ─▶ 50 questions ─▶ 1,000 rows ─▶ …       CPU of both, so that what an index costs those who push is in it

Sixteen texts are asked again and again, so that nothing is parsed or bound while it is measured.

For every question there is an engine without an index, one for each index that is named here, one that has all of them and
chooses, and one that makes indexes by itself. All of them read the same rows and are asked the same, in turns, in another order
every turn. A ratio is always of one turn: a choice is as good as the best if its ratio to the one that was quickest is around 1.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import sash
from benchmarks.report import Options, Report, span
from sash.database.answer import Answer

ROWS, PUSHED, ASKED, TEXTS = 100_000, 1_000, 50, 16
KEYS, GROUPS = 20_000, 4
TURNS, QUICK_TURNS = 15, 5
STEP = 10_000  # microseconds from a row to the next; the window is as long as all rows
WINDOW = f"s [RANGE {ROWS * STEP // 1_000_000} SECONDS]"
STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, g BIGINT, v DOUBLE) TIMESTAMP BY ts; CREATE TABLE few (k BIGINT);"
NONE, CHOSEN, AUTOMATIC = "none", "chosen", "automatic"


@dataclass(frozen=True)
class Subject:
    """A question, with places for a key, a group and a value; and indexes that it could be answered by."""

    name: str
    question: str
    indexes: tuple[str, ...]


SUBJECTS = (
    Subject("one of many keys", "SELECT v FROM {w} WHERE k = {k}", ("HASH (k)", "TREE (k)")),
    Subject("one of many keys, a range", "SELECT v FROM {w} WHERE k = {k} AND v > {v}", ("HASH (k)", "TREE (v)", "TREE (k, v)")),
    Subject(
        "one of few groups, a narrow range", "SELECT v FROM {w} WHERE g = {g} AND v > {v} AND v < {to}",
        ("HASH (g)", "TREE (v)", "TREE (g, v)"),
    ),
    Subject(
        "the same, without the best index", "SELECT v FROM {w} WHERE g = {g} AND v > {v} AND v < {to}",
        ("HASH (g)", "TREE (v)"),
    ),
    Subject("a range", "SELECT k FROM {w} WHERE v > {v} AND v < {to}", ("TREE (v)", "TREE (v, k)")),
    Subject("the first ten", "SELECT k, v FROM {w} ORDER BY v DESC LIMIT 10", ("TREE (v)", "TREE (v, k)", "HASH (k)")),
    Subject(
        "the first ten of a group", "SELECT k, v FROM {w} WHERE g = {g} ORDER BY v LIMIT 10",
        ("HASH (g)", "TREE (v)", "TREE (g, v)"),
    ),
    Subject("a median", "SELECT MEDIAN(v) AS m FROM {w}", ("TREE (v)", "TREE (v, k)")),
    Subject("a sum of one key", "SELECT SUM(v) AS s FROM {w} WHERE k = {k}", ("HASH (k)", "TREE (k)")),
    Subject("distinct groups", "SELECT DISTINCT g FROM {w}", ("TREE (g)", "TREE (g, v)", "HASH (g)")),
    Subject("a join with ten keys", "SELECT k, v FROM {w} x JOIN few USING (k)", ("HASH (k)", "TREE (k)")),
    Subject("ten keys that are not there", "SELECT k FROM few EXCEPT SELECT k FROM {w}", ("HASH (k)", "TREE (k)")),
)  # fmt: skip


class Engine:
    """One that has some of the indexes, or makes its own."""

    def __init__(self, subject: Subject, which: str) -> None:
        self._db, self._came = sash.connect(indexes="auto" if which == AUTOMATIC else "asked"), 0
        self._db.execute(STREAM)
        self._db.push("few", [(key * 7,) for key in range(10)])
        self._rows, self._chance = np.random.default_rng(3), random.Random(3)
        self._texts = [self._text(subject.question) for _ in range(TEXTS)]
        self._db.execute(f"CREATE INDEX kept ON {WINDOW} (k) USING LIST")
        for number, index in enumerate(subject.indexes):
            if which in (CHOSEN, index):
                method, columns = index.split(" ", 1)
                self._db.execute(f"CREATE INDEX i{number} ON {WINDOW} {columns} USING {method}")
        self.push(ROWS)

    def push(self, rows: int) -> None:
        ts = (self._came + np.arange(rows)) * STEP
        self._came += rows
        keys, groups, values = self._rows.integers(0, KEYS, rows), self._rows.integers(0, GROUPS, rows), self._rows.random(rows)
        self._db.push("s", pa.table({"ts": pa.array(ts, pa.timestamp("us")), "k": keys, "g": groups, "v": values}))

    def _text(self, question: str) -> str:
        key, group, value = self._chance.randrange(KEYS), self._chance.randrange(GROUPS), self._chance.random()
        return question.format(w=WINDOW, k=key, g=group, v=f"{value:.6f}D", to=f"{value + 0.001:.6f}D")

    def ask(self) -> Answer:
        return self._db.query(self._chance.choice(self._texts))

    def turn(self) -> float:
        """The processor's seconds that it takes."""
        started = time.process_time()
        self.push(PUSHED)
        for _ in range(ASKED):
            self.ask()
        return time.process_time() - started

    @property
    def made(self) -> list[str]:
        """Indexes that it made by itself."""
        shown = self._db.execute("SHOW INDEXES")
        assert shown is not None
        return [f"{row['using']} ({row['columns']})" for row in shown.to_pylist() if row["automatic"]]

    def close(self) -> None:
        self._db.close()


def run(options: Options) -> list[Report]:
    turns, lines, numbers = options.repeat or (QUICK_TURNS if options.quick else TURNS), [], list[dict[str, object]]()
    for subject in SUBJECTS:
        options.say(subject.name)
        times, made = measure(subject, turns)
        middle = {which: 1e3 * statistics.median(taken) for which, taken in times.items()}
        best = min((which for which in middle if which not in (CHOSEN, AUTOMATIC)), key=middle.__getitem__)
        ratios = {which: of(times[which], times[best]) for which in (CHOSEN, AUTOMATIC, NONE)}
        shown = [span(ratios[which], ".2f") for which in (CHOSEN, AUTOMATIC, NONE)]
        lines.append([subject.name, best, f"{middle[best]:.1f}", *shown, ", ".join(made)])
        numbers.append({"question": subject.name, "best": best, "made": made, "ms": middle, "ratios": ratios})
    title = f"{ASKED} questions after every {PUSHED:,} rows, by each index that could serve them; a window of {ROWS:,} rows"
    columns = ("question", "quickest", "its ms a turn", "chosen, of it", "automatic, of it", "none, of it", "made by itself")
    return [Report(title, columns, lines, numbers)]


def of(times: list[float], others: list[float]) -> list[float]:
    return [one / other for one, other in zip(times, others, strict=True)]


def measure(subject: Subject, turns: int) -> tuple[dict[str, list[float]], list[str]]:
    """What turns take with no index, each of them, all and those that come by themselves; which those are."""
    engines = {which: Engine(subject, which) for which in (NONE, *subject.indexes, CHOSEN, AUTOMATIC)}
    for _ in range(500):
        engines[AUTOMATIC].ask()
        if len(engines[AUTOMATIC].made) > 1:
            break
    for engine in engines.values():
        engine.turn()
    times: dict[str, list[float]] = {which: [] for which in engines}
    for number in range(turns):
        order = list(engines)
        random.Random(number).shuffle(order)
        for which in order:
            times[which].append(engines[which].turn())
    made = engines[AUTOMATIC].made
    for engine in engines.values():
        engine.close()
    return times, made
