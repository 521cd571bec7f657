"""A small job that leaves every kind of file, stopped, killed half way or finished, and how it goes on.

    before    files of two streams and of a table, statements, a view that comes and one that is made anew, a restart
    after     more of all that, views that read what tables hold, a look into the past, and another restart in the middle

Whatever a file holds is needed after the restart, or nobody would notice what has become of it.
"""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sash.database import on_spark as spark_database
from sash.database.on_spark import SparkDatabase
from sash.runtime.packets import Cargo, changes_schema
from sash.spark import files, folding, merging, running_job, snapshots, tidying
from sash.spark.arenas import arenas_on_this_machine
from sash.spark.host import SparkHost
from sash.spark.outputs import output_name
from sash.spark.trials import shown

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
from without_spark import AtOnce, Crash, PlayedHost, Query, query_of


@dataclass(frozen=True)
class Story:
    """A job, and what is said to it, in this order."""

    name: str
    sql: str
    early: str  # before the first start
    later: str
    again: str  # after a restart
    onward: str
    pending: str  # while nothing runs, so that nobody has taken it up when the files are damaged
    after: str  # after the files have been damaged; while nothing runs
    as_they_are: str  # while it runs: who comes now reads what tables hold by now
    last: str  # after one more restart
    looked_at: str  # a view, as of all rows that are in
    history: str | None = None


PEOPLE = Story(
    name="people",
    sql="""
        CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts DELAY 1 SECONDS WITH (format = 'csv', path = 'in/s/*.csv');
        CREATE TABLE t (k STRING, name STRING);
        CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 9 SECONDS] GROUP BY k;
        CREATE MATERIALIZED VIEW named AS SELECT s.v, t.name FROM s [RANGE 6 SECONDS] s JOIN t ON s.k = t.k;
    """,
    early="INSERT INTO t VALUES ('a', 'ann'), ('b', 'bob'); INSERT INTO t VALUES ('f', 'fay');",
    later="""
        CREATE MATERIALIZED VIEW spread AS
            SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 7 SECONDS] GROUP BY k) GROUP BY n;
        INSERT INTO t VALUES ('c', 'cid'); DELETE FROM t WHERE k = 'b';
    """,
    again="""
        DROP VIEW named;
        CREATE MATERIALIZED VIEW named AS SELECT s.v + 1 AS v, t.name FROM s [RANGE 5 SECONDS] s JOIN t ON s.k = t.k;
        UPDATE t SET name = 'cecil' WHERE k = 'c';
    """,
    onward="ADVANCE TO TIMESTAMP '1970-01-01 00:00:42'; INSERT INTO t VALUES ('b', 'bea'); DELETE FROM t WHERE k = 'f';",
    pending="INSERT INTO t VALUES ('g', 'gus'); DROP VIEW spread;",
    after="INSERT INTO t VALUES ('d', 'dan'); DELETE FROM t WHERE k = 'a';",
    as_they_are="CREATE MATERIALIZED VIEW people AS SELECT name, COUNT(*) AS n FROM t GROUP BY name; DELETE FROM t WHERE k = 'b';",
    last="INSERT INTO t VALUES ('e', 'eve'); ADVANCE TO TIMESTAMP '1970-01-01 00:01:20'; DELETE FROM t WHERE k = 'g';",
    looked_at="named",
)
PRICES = Story(
    name="prices",
    sql="""
        CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts DELAY 1 SECONDS WITH (format = 'csv', path = 'in/s/*.csv');
        CREATE STREAM r (ts TIMESTAMP, k STRING, w DOUBLE) TIMESTAMP BY ts WITH (format = 'json', path = 'in/r/*.json');
        CREATE TABLE n (k STRING, price INT) NON RETROACTIVE;
        CREATE TABLE f (k STRING, kind STRING) RETROACTIVE WITH (format = 'csv', path = 'in/f.csv');
        CREATE MATERIALIZED VIEW counts AS SELECT f.kind, COUNT(*) AS n FROM s [RANGE 9 SECONDS] s JOIN f ON s.k = f.k GROUP BY f.kind;
        CREATE MATERIALIZED VIEW pairs AS
            SELECT s.v, r.w FROM s [RANGE 4 SECONDS] s JOIN r [RANGE 4 SECONDS] r ON s.k = r.k;
    """,
    early="INSERT INTO f VALUES ('f', 'fish'); DELETE FROM f WHERE k = 'e'; INSERT INTO n VALUES ('a', 2), ('b', 3), ('c', 5);",
    later="CREATE MATERIALIZED VIEW priced AS SELECT r.k, r.w * n.price AS cost FROM r [RANGE 5 SECONDS] r JOIN n ON r.k = n.k;",
    again="UPDATE n SET price = 7 WHERE k = 'b'; INSERT INTO f VALUES ('late', 'snail'); UPDATE f SET kind = 'bat' WHERE k = 'b';",
    onward="INSERT INTO n VALUES ('d', 11); ADVANCE TO TIMESTAMP '1970-01-01 00:00:42'; DELETE FROM n WHERE k = 'c';",
    pending="""
        UPDATE n SET price = price + 2 WHERE k = 'b';
        CREATE OR REPLACE MATERIALIZED VIEW priced AS SELECT r.k, r.w + n.price AS cost FROM r [RANGE 6 SECONDS] r JOIN n ON r.k = n.k;
    """,
    after="UPDATE n SET price = price + 1 WHERE k = 'a'; DELETE FROM f WHERE k = 'a';",
    as_they_are="""
        CREATE MATERIALIZED VIEW costs AS SELECT s.v * n.price AS cost, COUNT(*) AS n FROM s [RANGE 3 SECONDS] s JOIN n ON s.v = n.price
            GROUP BY s.v * n.price;
        UPDATE n SET price = 3;
    """,
    last="UPDATE f SET kind = 'ant' WHERE k = 'c'; CREATE MATERIALIZED VIEW kinds AS SELECT kind, COUNT(*) AS n FROM f GROUP BY kind;",
    looked_at="counts",
    history="15 SECONDS",
)
STORIES = {story.name: story for story in (PEOPLE, PRICES)}
STAGES = 4
FEW = 1  # batches between two things that are done after the restart


class Moment(Enum):
    """When something may happen to files."""

    BEFORE = "before the restart"
    EARLY = "soon after the restart"
    RUNNING = "while it runs on"
    BETWEEN = "before another restart"


Happening = Callable[[Moment, Path], None]  # is told of the folder of the arenas as well


class SmallQuery(Query):
    """Who waits for a batch runs one."""

    def exception(self) -> None:
        self.step()


class SmallHost(PlayedHost):
    """Snapshots come often."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._settings = replace(self._settings, snapshot_every=4)

    def _begin(self, trigger: Mapping[str, object]) -> None:
        super()._begin(trigger)
        self._query = SmallQuery(self, "availableNow" in trigger)  # type: ignore[assignment]

    def drain(self) -> None:
        assert self._query is not None
        self._query.processAllAvailable()


@contextmanager
def played(base: Path) -> Iterator[None]:
    """Without a JVM, with nothing outside of this folder, and with files that are merged and folded soon."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(spark_database, "SparkHost", SmallHost)
        patch.setattr("os.fsync", lambda descriptor: None)
        patch.setattr("tempfile.tempdir", str(base))
        patch.setattr(tidying, "Thread", AtOnce)
        patch.setattr(tidying, "EVERY", 4)
        patch.setattr(merging, "FEW_BATCHES", 6)
        patch.setattr(merging, "FEW", 3)
        patch.setattr(folding, "LEAST", 4)
        patch.setattr(files, "CHUNK", 3)
        patch.setattr(snapshots, "SMALL", 1 << 17)
        patch.setattr(running_job, "POLL", 0.0)
        warnings.simplefilter("ignore")  # of late rows
        yield


def connect(story: Story, folder: Path, batch_rows: int = 8) -> SparkDatabase:
    places: dict[str, Any] = {"checkpoint": folder / "point", "output": folder / "out", "base": folder.parent}
    db = SparkDatabase(None, shards=2, batch_rows=batch_rows, history=story.history, **places)  # type: ignore[arg-type]
    db.execute(story.sql)
    return db


def write_rows(base: Path, number: int) -> None:
    """A file of rows for either stream; some are late, and one cannot be read."""
    rows = [(10 * number + second + 1, "abcdef"[(second * number + second // 3) % 6], second % 4) for second in range(10)]
    lines = [f"{ts},{k},{v}\n" for ts, k, v in rows] + ["1,late,0\n", "no row\n"]
    (base / f"in/s/{number}.csv").write_text("".join(lines))
    objects = [{"ts": ts, "k": k, "w": v / 4} for ts, k, v in rows[::3]] + [{"ts": 1, "k": "late", "w": 0}]
    (base / f"in/r/{number}.json").write_text("".join(json.dumps(row) + "\n" for row in objects) + "{no row\n")


def begin(story: Story, folder: Path) -> None:
    """Run for a while; `folder`-N is a copy of how things stood at stage N. At the end, one is stopped, one killed, one finished."""
    base = folder.parent
    for name in "sr":
        (base / "in" / name).mkdir(parents=True)
    (base / "in/f.csv").write_text("a,ape\nb,bear\nc,cat\nd,dog\ne,eel\n")
    db = connect(story, folder)
    db.execute(story.early)
    for stage in range(STAGES):
        if stage == 1:
            db.execute(story.later)
        if stage == 2:
            db.close()
            db = connect(story, folder)
        write_rows(base, stage)
        if stage in (0, 2):
            db.start()
        db.drain()
        if stage >= 2:
            db.execute(story.again if stage == 2 else story.onward)
            db.drain()
        shutil.copytree(folder, f"{folder}-{stage}")
    write_rows(base, STAGES)
    db.drain()
    db.stop()
    db.execute(story.pending)
    shutil.copytree(folder, f"{folder}-stopped")
    db.start()
    write_rows(base, STAGES + 1)
    query_of(db).crash = (2, 1)
    try:
        db.drain()
    except Crash:
        shutil.copytree(folder, f"{folder}-killed")
    db.stop()
    db.run()
    db.close()
    shutil.copytree(folder, f"{folder}-finished")
    for name in ("s/0.csv", "r/0.json"):
        (base / "in" / name).unlink()  # archived
    write_rows(base, STAGES + 2)
    write_rows(base, STAGES + 3)


def go_on(story: Story, folder: Path, happens: Happening = lambda moment, arenas: None) -> dict[str, str]:
    """Restart, and run to the end, with another restart on the way; what all views say, and said."""
    happens(Moment.BEFORE, folder / "no arenas")
    told = {} if "finished" in folder.name else _run_on(story, folder, happens)
    db = connect(story, folder, 40)
    try:
        if not db.is_finished:
            db.execute(story.last)
        db.run()
        db.write_answers()
        host = db._running()
        for view in shown(host.job):
            told |= _told_of(db, host, folder, view.name)
        streams = [stream.name for stream in host.job.streams if not stream.is_table]
        return told | {f"{kind} of {name}": _text(getattr(db, kind)(name)) for kind in ("late", "dead") for name in streams}
    finally:
        db.close()


def _run_on(story: Story, folder: Path, happens: Happening) -> dict[str, str]:
    """The first run after the restart: some batches, and statements between them."""
    db, told = connect(story, folder), {}
    try:
        db.execute(story.after)
        db.start()
        host, query = db._running(), query_of(db)
        arenas = arenas_on_this_machine(host._settings.arenas)
        with db.subscribe("counts", timeout=0) as subscription:
            _step(query)
            happens(Moment.EARLY, arenas)
            db.execute(story.as_they_are)
            _step(query)
            happens(Moment.RUNNING, arenas)
            told[f"view of {story.looked_at}"] = _text(db.view(story.looked_at).to_arrow())
            _step(query)
            told["subscription"] = _text(pa.Table.from_batches(subscription, changes_schema(host._view("counts").schema)))
        happens(Moment.BETWEEN, arenas)
        return told
    finally:
        db.close()


def _step(query: Query) -> None:
    for _ in range(FEW):
        query.step()


def _told_of(db: SparkDatabase, host: SparkHost, folder: Path, name: str) -> dict[str, str]:
    """All that is there of a view: for who asks, for who reads its history, and for who reads its files with anything else."""
    output, schema = output_name(name, Cargo.CHANGES), changes_schema(host._view(name).schema)
    changelog = host.ledger.changelog(output)
    read = [batch for piece in changelog.pieces(None, changelog.newest()) for batch in changelog.read(piece, schema)]
    plain = [pq.read_table(path) for path in sorted((folder / "out" / output).iterdir()) if path.name[0] not in "._"]
    return {
        f"complete since {name}": str(db.complete_since(name)),
        f"changes of {name}": _text(pa.concat_tables([schema.empty_table(), *host.ledger.read_all(output)])),
        f"answer of {name}": _text(host.final(name)),
        f"history of {name}": _text(pa.Table.from_batches(read, schema)),
        f"files of {name}": _text(pa.concat_tables(plain)),
        f"file of the answer of {name}": _text(pq.read_table(folder / f"out/{name}.parquet")),
    }


def _text(table: pa.Table) -> str:
    return "\n".join(sorted(map(str, table.to_pylist())))
