"""A watcher of edges: what the changes of a query really were, and what they could have been had the input gone on otherwise.

    monotonic   nothing left
    in order    whatever left was the oldest there
    by time     had nothing more come, no row would have stayed longer than it did: nothing that comes makes another row leave
    by count    the same on the clock of one stream: had strange rows come at once in the place of its later ones
    by key      no key ever had more than n rows; its oldest went, and as many new ones came, or the key had none left
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from sash.database.embedded import EmbeddedDatabase
from sash.testing.tables import Change, from_arrow
from sash.testing.values import moment

SECOND = 1_000_000
LONG_AFTER = 1000  # seconds: by then every time window is empty
STRANGE = "strange"  # the key of rows that meet nothing

TABLES = ("steady", "changing", "lookup")
DECLARATIONS = """
CREATE STREAM a (ts TIMESTAMP, id INT, k STRING, v INT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, id INT, k STRING, v INT) TIMESTAMP BY ts;
CREATE TABLE steady (k STRING, name STRING) WITH (path = 'steady.csv');
CREATE TABLE changing (k STRING, name STRING) RETROACTIVE;
CREATE TABLE lookup (k STRING, name STRING) NON RETROACTIVE;
"""


@dataclass(frozen=True)
class Event:
    """A row of a stream at a second, or a row that comes to a table or leaves it."""

    second: int
    where: str
    row: tuple[object, ...]
    comes: bool = True


def make_events(seed: int, count: int = 40) -> list[Event]:
    """Rows of both streams, their ids all different, and updates of the tables in between."""
    chance = random.Random(seed)
    names = [("x", "one"), ("y", "two"), ("x", "three")]
    events = [Event(0, table, row) for table in TABLES for row in names[:2]]
    second = 1
    for number in range(count):
        second += chance.choice([0, 1, 1, 2])
        row = (moment(second * SECOND), number, chance.choice("xyz"), chance.randint(0, 5))
        events.append(Event(second, chance.choice("ab"), row))
        if number % 10 == 9:
            gone, new = (names[0], names[2]) if number % 20 == 9 else (names[2], names[0])
            for table in ("changing", "lookup"):
                events += [Event(second, table, gone, comes=False), Event(second, table, new)]
            events.append(Event(second, "steady", ("xyz"[number // 10 % 3], f"name {number}")))
    return events


def run(query: str, events: Sequence[Event]) -> list[Change]:
    """The real changes of a query, long after the last event."""
    return _run(query, tuple(event for event in events if event.where not in TABLES or f" {event.where} " in query))


@lru_cache(maxsize=10_000)
def _run(query: str, events: tuple[Event, ...]) -> list[Change]:
    db = EmbeddedDatabase()
    db.execute(f"{DECLARATIONS} CREATE MATERIALIZED VIEW v AS {query}")
    for is_of_tables, group in groupby(events, lambda event: event.where in TABLES):
        part = list(group)
        steps = [[event] for event in part] if is_of_tables else _by_stream(part)
        for step in steps:
            (db.push if step[0].comes else db.delete)(step[0].where, [event.row for event in step])
    db.advance((max(event.second for event in events) + LONG_AFTER) * SECOND)
    found = from_arrow(db.changes("v"))
    db._arena.close()
    return found


def _by_stream(events: Iterable[Event]) -> list[list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[event.where].append(event)
    return list(found.values())


def is_monotonic(changes: Sequence[Change]) -> bool:
    return all(change.op > 0 for change in changes)


def is_in_order(changes: Sequence[Change]) -> bool:
    """Rows must be told apart by their ids: then the one that leaves came when the oldest did."""
    came: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for change in changes:
        if change.op > 0:
            came[change.row].append(change.ts)
        elif came[change.row].pop(0) > min((min(stamps) for stamps in came.values() if stamps), default=change.ts):
            return False
    return True


def lifetimes(changes: Sequence[Change]) -> set[int]:
    """How long the rows that left were there."""
    came = {change.row: change.ts for change in changes if change.op > 0}
    return {change.ts - came[change.row] for change in changes if change.op < 0}


def is_by_time(query: str, events: Sequence[Event]) -> bool:
    """Cut the input where you will: what is there then stays at least as long as if nothing more had come."""
    whole = run(query, events)
    return all(_stays(run(query, events[:cut]), whole, events[cut - 1].second) for cut in _cuts(events))


def is_by_count(query: str, events: Sequence[Event], stream: str) -> bool:
    """The same on another clock: had as many other rows come in the counted stream, at once, meeting nothing, and none elsewhere."""
    whole = run(query, events)
    return all(_stays_counted(query, events, cut, stream, whole) for cut in _cuts(events))


def _stays_counted(query: str, events: Sequence[Event], cut: int, stream: str, whole: Sequence[Change]) -> bool:
    second, later = events[cut - 1].second, [event for event in events[cut:] if event.where == stream]
    strange = [
        Event(second, stream, (moment(second * SECOND + place), 1000 + place, STRANGE, 0)) for place in range(1, len(later) + 1)
    ]
    shorter = run(query, [*events[:cut], *strange])
    known = _known(shorter, second)
    # The rows of one second have all come or none: the last one counts.
    places = {event.second: place for place, event in enumerate(later, 1)}
    return all(
        not _bag(shorter, second * SECOND + place, known) - _bag(whole, at * SECOND, known) for at, place in places.items()
    )


def is_by_key(changes: Sequence[Change], key: Sequence[int], most: int) -> bool:
    alive: dict[tuple[object, ...], list[tuple[int, tuple[object, ...]]]] = defaultdict(list)
    for ts, now in groupby(changes, lambda change: change.ts):
        by_key = defaultdict(list)
        for change in now:
            by_key[tuple(change.row[column] for column in key)].append(change)
        if not all(_takes_place(alive[value], ts, part, most) for value, part in by_key.items()):
            return False
    return True


def _takes_place(alive: list[tuple[int, tuple[object, ...]]], ts: int, now: list[Change], most: int) -> bool:
    gone, new = [change.row for change in now if change.op < 0], [change.row for change in now if change.op > 0]
    oldest = Counter(row for came, row in alive if not gone or came <= sorted(alive)[len(gone) - 1][0])
    if Counter(gone) - oldest:
        return False
    for row in gone:
        alive.remove(next(one for one in sorted(alive) if one[1] == row))
    is_emptied = not alive and not new
    alive += [(ts, row) for row in new]
    return len(alive) <= most and (is_emptied or len(new) >= len(gone) or most == 1)


def _cuts(events: Sequence[Event]) -> range:
    return range(14, len(events), 13)


def _stays(shorter: Sequence[Change], whole: Sequence[Change], second: int) -> bool:
    """Whether all rows of the shorter run that were there at a second are in the whole one for as long."""
    instants = sorted({change.ts for change in (*shorter, *whole) if change.ts > second * SECOND})
    known = _known(shorter, second)
    return all(not _bag(shorter, at, known) - _bag(whole, at, known) for at in instants)


def _known(changes: Sequence[Change], second: int) -> set[tuple[object, ...]]:
    return {change.row for change in changes if change.ts <= second * SECOND}


def _bag(changes: Sequence[Change], at: int, known: set[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    bag: Counter[tuple[object, ...]] = Counter()
    for change in changes:
        if change.ts <= at and change.row in known:
            bag[change.row] += change.op
    return bag
