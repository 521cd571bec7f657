"""One try: a statement, the rows that it may read, its answer. A seed says it all."""

from __future__ import annotations

import random
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from threading import Thread
from types import FrameType

import pyarrow as pa

import sash
from fuzz.corpus import texts
from fuzz.mutations import mutated
from fuzz.queries import Queries
from fuzz.statements import NAME, PRELUDE, bad_row, pushes, rows, statement
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import from_arrow

MOST_SECONDS = 2.0  # of CPU
VALID, REFUSED, BROKEN, SLOW, WRONG = "valid", "refused", "broken", "slow", "wrong"


@dataclass(frozen=True)
class Outcome:
    """What a try came to."""

    seed: int
    kind: str
    sql: str
    told: str = ""
    seconds: float = 0.0
    compared: bool = False

    def data(self) -> dict[str, object]:
        return asdict(self)


class TooSlow(BaseException):
    """A try has used up its time."""


class Differs(Exception):
    """An answer is another than it should be."""


def sql_of(seed: int) -> str:
    """The statement of a seed: made by the grammar, or a made or written one that is then changed."""
    chance = random.Random(seed)
    roll = chance.random()
    if roll < 0.05:
        return f"CREATE MATERIALIZED VIEW {NAME} AS {Queries(chance, plain=True).outermost()}"
    if roll < 0.8:
        return statement(chance)
    return mutated(chance, statement(chance) if roll < 0.9 else chance.choice(texts()))


def is_plain(seed: int) -> bool:
    """Whether DuckDB can be asked for the answer."""
    return random.Random(seed).random() < 0.05


def attempt(seed: int, threads: bool = False) -> Outcome:
    sql, begun = sql_of(seed), time.process_time()

    def done(kind: str, told: str = "", compared: bool = False) -> Outcome:
        seconds = time.process_time() - begun
        return Outcome(seed, SLOW if kind in (VALID, REFUSED) and seconds > MOST_SECONDS else kind, sql, told, round(seconds, 3), compared)

    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore", sash.LateRowsWarning)
            warnings.simplefilter("ignore", sash.UnreadableRowsWarning)
            compared = _play(seed, sql, threads)
            return done(VALID, compared=compared)
    except SashError as error:
        str(error)
        return done(REFUSED, error.message)
    except TooSlow:
        return done(SLOW, traceback.format_exc(limit=-8))
    except Differs as error:
        return done(WRONG, str(error))
    except BaseException as error:
        return done(BROKEN, f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-6)}")


@contextmanager
def _limited() -> Iterator[None]:
    """An alarm when the time is up and as much again is gone: a result that came in time is better than none."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, 4 * MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _play(seed: int, sql: str, threads: bool) -> bool:
    chance = random.Random(f"rows of {seed}")
    db = EmbeddedDatabase()
    db.execute(PRELUDE)
    db.execute(sql)
    if is_plain(seed):
        return _compared(chance, db, sql)
    for name, batch in pushes(chance):
        if name in db.catalog.streams:
            _push(db, name, batch, threads)
        if chance.random() < 0.2:
            with suppress(SashError):
                db.push(*bad_row(chance))
    _read(db)
    with suppress(SashError):
        db.advance("2024-01-01 00:01:00")
    db.end()
    _read(db)
    return False


def _push(db: EmbeddedDatabase, name: str, batch: list[dict[str, object]], threads: bool) -> None:
    """With threads, half of the rows from another one, while this one reads."""
    if not threads:
        db.push(name, batch)
        return
    failed: list[BaseException] = []

    def push() -> None:
        try:
            db.push(name, batch[::2])
        except SashError:
            pass
        except BaseException as error:
            failed.append(error)

    other = Thread(target=push)
    other.start()
    try:
        db.push(name, batch[1::2])
        _read(db)
    finally:
        other.join()
    if failed:
        raise failed[0]


def _read(db: EmbeddedDatabase) -> None:
    """The answer, and the changes, which add up to it at the end."""
    for view in list(db.materialized()):
        answer = db.view(view).to_arrow()
        assert isinstance(answer, pa.Table)
        assert answer.num_columns == len(db.catalog.views[view.lower()].plan.schema)
        db.changes(view)


def _compared(chance: random.Random, db: EmbeddedDatabase, sql: str) -> bool:
    made = rows(chance, "a", 12)
    for row in made:
        row.update(v=chance.randrange(-5, 50), d=chance.randrange(8) / 4, s=chance.choice(("a", "b", "ann", None)))
        row["k"] = chance.choice((None, 0, 1, 2))
    ordered = sorted((row for row in made if row["ts"] is not None), key=lambda row: row["ts"])  # type: ignore[arg-type,return-value]
    db.push("a", ordered)
    db.end()
    try:
        expected = Oracle(f"{PRELUDE};{sql}", {"a": [tuple(row.values()) for row in ordered]}).changelog(NAME)
    except Exception as error:  # the oracle does not know everything, nor does DuckDB
        if "duckdb" not in type(error).__module__ and not isinstance(error, SashError | NotImplementedError):
            raise
        return False
    try:
        assert_same(expected, from_arrow(db.changes(NAME)))
    except AssertionError as error:
        raise Differs(str(error)) from None
    return True
