"""Plans that change while a job runs on Spark: whenever, and to whatever other plan, nothing of it shows."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from test_law import write_job

from sash.database import replan
from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.plan.nodes import Plan
from sash.plan.statistics import Statistics
from sash.planner.choose import Choice, offers
from sash.planner.job import View
from sash.planner.placement import Expiry
from sash.spark.trials import has_trials, is_trial
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import from_arrow
from shapes import SHAPES, STREAMS, make_rows

NAMES = ("join", "self_join", "three_way", "join_group", "join_total", "slide_join", "left_join", "semi_exists")
VIEWS = "\n".join(shape.sql for shape in SHAPES if shape.name in NAMES)
ROWS = make_rows(6, 40)


def test_plans_may_change_at_any_time(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(4)

    def another(plan: Plan, current: Choice, shards: int, expiry: Expiry, statistics: Statistics) -> Choice | None:
        return chance.choice([offer.choice for offer in offers(plan, shards, expiry, statistics)])

    for place, value in (("FIRST", 7), ("LAST", 7), ("_is_far", lambda one, other: True), ("better", another)):
        monkeypatch.setattr(replan, place, value)
    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, batch_rows=13, base=tmp_path)
    db.execute(write_job(tmp_path, ROWS) + VIEWS)
    host = db._running()
    tried: list[str] = []
    host._on_progress = lambda progress: tried.extend(view.name for view in host.job.views if is_trial(view.name))
    db.run()
    assert set(host.steering._choices) >= {"three_way", "join_total"}
    assert len(tried) > len(set(tried)) > 4
    oracle = Oracle(STREAMS + VIEWS, ROWS)
    for name in NAMES:
        assert_same(oracle.changelog(name), from_arrow(pq.read_table(tmp_path / f"out/{name}.changes.parquet")))
    db.close()


STREAM = """
CREATE STREAM s (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW j AS SELECT a.k, COUNT(*) AS n FROM s [RANGE 4 SECONDS] a JOIN s [RANGE 6 SECONDS] b ON a.k = b.k GROUP BY a.k;
"""
PARTS = [[(second, second % 3, second % 2) for second in range(first, first + 8)] for first in range(1, 33, 8)]
MORE = "CREATE MATERIALIZED VIEW n AS SELECT k, SUM(v) AS v FROM s [RANGE 5 SECONDS] GROUP BY k"


def put(folder: Path, number: int) -> None:
    (folder / "s").mkdir(exist_ok=True)
    hidden = folder / f"s/.{number}"
    hidden.write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in PARTS[number]))
    hidden.rename(folder / f"s/{number}.csv")


def connected(spark: SparkSession, folder: Path) -> SparkDatabase:
    db = SparkDatabase(spark, checkpoint=folder / "point", output=folder / "out", shards=2, base=folder)
    db.execute(STREAM.replace(";", " WITH (format = 'csv', path = 's');", 1))
    db._running()
    return db


def try_another(db: SparkDatabase) -> View:
    """Let a plan run beside that of the view, other than any it had."""
    host, plan = db._running(), db.catalog.views["j"].plan
    choices = [offer.choice for offer in offers(plan, 2, Expiry.AUTO)]
    views = {View("j", *choice.placed(2, Expiry.AUTO)): choice for choice in choices}
    found = next(view for view in views if view.spec != host.steering.newest.view("j").spec)
    host.steering.try_plans({found: views[found]})
    assert has_trials(host.steering.newest)
    return found


def test_a_restart_or_a_statement_ends_a_trial(spark: SparkSession, tmp_path: Path) -> None:
    embedded = EmbeddedDatabase()
    embedded.execute(STREAM)
    for number, part in enumerate(PARTS):
        embedded.push("s", part)
        if number == 2:
            embedded.execute(MORE)
    put(tmp_path, 0)
    db = connected(spark, tmp_path)
    db.start()
    db.drain()
    new = try_another(db)
    put(tmp_path, 1)
    db.drain()
    assert db._running().job.view("j") == new and not has_trials(db._running().job)
    db.stop()
    db = connected(spark, tmp_path)  # goes on with the plan that it had
    assert db._running().steering.newest.view("j") == new and db._running().steering.choice_of("j") is not None
    try_another(db)
    db.stop()
    db = connected(spark, tmp_path)  # the trial is not known to anybody any more
    put(tmp_path, 2)
    db.start()
    db.drain()
    assert not has_trials(db._running().job) and db._running().job.view("j") == new
    try_another(db)
    db.execute(MORE)
    put(tmp_path, 3)
    db.drain()
    assert not has_trials(db._running().job)
    for view in "jn":
        assert_same(from_arrow(embedded.changes(view)), from_arrow(pq.read_table(tmp_path / f"out/{view}.changes.parquet")))
        assert db.view(view).to_arrow().equals(embedded.view(view).to_arrow())
    assert [row["name"] for row in db.execute("SHOW QUERIES")] == ["j", "n"]
    db.close()
