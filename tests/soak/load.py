"""The load: a job of many kinds of state, rows that meet, repeat, never come again, come late or cannot be read, and statements.

A tick is a second of the streams' time. What the windows may hold is remembered here, for DuckDB to say what the answers are.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field

from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import Change

ROWS = 60  # of every stream, a tick
KEPT = 60  # ticks: twice the longest window
KEYS = [f"key {number}" for number in range(40)]

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, word STRING) TIMESTAMP BY ts DELAY 2 SECONDS{s};
CREATE STREAM r (ts TIMESTAMP, k STRING, w DOUBLE) TIMESTAMP BY ts{r};
CREATE TABLE t (k STRING, name STRING);
"""
VIEWS = {
    "counts": "SELECT k, COUNT(*) AS n, SUM(v) AS v, MAX(word) AS word FROM s [RANGE 30 SECONDS] GROUP BY k",
    "pairs": "SELECT s.v, r.w, s.word FROM s [RANGE 4 SECONDS] s JOIN r [RANGE 6 SECONDS] r ON s.k = r.k",
    "words": "SELECT DISTINCT word FROM s [RANGE 10 SECONDS]",
    "missing": "SELECT k, v FROM s [RANGE 9 SECONDS] EXCEPT SELECT k, CAST(w AS INT) FROM r [RANGE 9 SECONDS]",
    "top": "SELECT k, v, word FROM s [RANGE 20 SECONDS] ORDER BY v DESC, word, k LIMIT 10",
    "named": "SELECT t.name, COUNT(*) AS n FROM s [RANGE 15 SECONDS] s JOIN t ON s.k = t.k GROUP BY t.name",
}
GUESTS = {
    "guest_1": "SELECT k, AVG(w) AS w FROM r [RANGE 10 SECONDS] GROUP BY k",
    "guest_2": "SELECT word, COUNT(*) AS n FROM s [RANGE 8 SECONDS] GROUP BY word",
    "guest_3": "SELECT COUNT(*) AS n FROM s [RANGE 12 SECONDS] s JOIN t ON s.k = t.k",
}

Row = tuple[object, ...]


def created(views: dict[str, str]) -> str:
    return "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};\n" for name, query in views.items())


@dataclass
class Tick:
    """What happens in one second of the streams' time."""

    rows: dict[str, list[Row]]
    statements: list[str] = field(default_factory=list)


class Load:
    """Makes ticks, and knows what the answers are after each."""

    def __init__(self, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        self.now = 100  # the tick
        self._kept: deque[dict[str, list[Row]]] = deque(maxlen=KEPT)
        self.table: dict[str, str] = {}
        self.guests: list[str] = []
        self._number = 0

    def tick(self) -> Tick:
        self.now += 1
        rows = {"s": self._rows_of_s(), "r": self._rows_of_r()}
        self._kept.append(rows)
        return Tick(rows, self._statements())

    def _rows_of_s(self) -> list[Row]:
        chance, rows = self._chance, []
        for place in range(ROWS):
            self._number += 1
            lateness = 5.0 if chance.random() < 0.005 else chance.choice((0.0, 0.0, 0.5, 1.0))
            ts = self.now + place / ROWS - lateness
            word = f"word {self._number}" if chance.random() < 0.7 else f"word {chance.randrange(30)}"
            rows.append((ts, self._key(), chance.choice((None, 0, 1, 2, 3)), word))
        return [*rows, (self.now + 1.0, "last", 1, "last")]  # both streams reach the same instant

    def _rows_of_r(self) -> list[Row]:
        rows: list[Row] = [(self.now + place / ROWS, self._key(), self._chance.choice((0.0, 1.0, 2.5, None))) for place in range(ROWS)]
        return [*rows, (self.now + 1.0, "last", 1.0)]

    def _key(self) -> str | None:
        return None if self._chance.random() < 0.02 else self._chance.choice(KEYS)

    def _statements(self) -> list[str]:
        said = []
        if self._chance.random() < 0.3:
            said.append(self._change_of_table())
        if self._chance.random() < 0.05:
            said.append(self._guest())
        return said

    def _change_of_table(self) -> str:
        key, name = self._chance.choice(KEYS), f"name {self._chance.randrange(9)}"
        if key not in self.table:
            self.table[key] = name
            return f"INSERT INTO t VALUES ('{key}', '{name}')"
        if self._chance.random() < 0.5:
            self.table[key] = name
            return f"UPDATE t SET name = '{name}' WHERE k = '{key}'"
        del self.table[key]
        return f"DELETE FROM t WHERE k = '{key}'"

    def _guest(self) -> str:
        waiting = [name for name in GUESTS if name not in self.guests]
        if self.guests and (not waiting or self._chance.random() < 0.5):
            return f"DROP VIEW {self.guests.pop(0)}"
        self.guests.append(waiting[0])
        return f"CREATE MATERIALIZED VIEW {waiting[0]} AS {GUESTS[waiting[0]]}"

    def check(self, view: str, answer: list[Row]) -> None:
        """Compare an answer over all rows so far with DuckDB's."""
        rows: dict[str, list[Row]] = {name: [row for tick in self._kept for row in tick[name]] for name in "sr"}
        oracle = Oracle(STREAMS.format(s="", r="") + created(VIEWS), rows | {"t": list(self.table.items())}, until=self.now + 1.0)
        expected = oracle.answer(view)
        assert_same(_as_changes(expected), _as_changes(Counter(answer)))


def _as_changes(bag: Counter[Row]) -> list[Change]:
    return [Change(1, 0, row) for row, count in bag.items() for _ in range(count)]
