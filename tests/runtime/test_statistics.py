"""What a running job knows of its streams and operators, and how EXPLAIN ANALYZE shows it."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from sash.cli.main import main
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.runtime.sketch import Sketch
from sash.testing.values import moment

SECOND = 1_000_000
JOB = """
CREATE STREAM a (ts TIMESTAMP, k INT, v STRING) TIMESTAMP BY ts WITH (path = 'a.csv');
CREATE STREAM b (ts TIMESTAMP, k INT, v STRING) TIMESTAMP BY ts WITH (path = 'b.csv');
CREATE TABLE t (k INT) WITH (path = 't.csv');
CREATE MATERIALIZED VIEW alone AS
  SELECT a.k FROM a [RANGE 10 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 5 SECONDS] WHERE b.k = a.k);
"""


@pytest.mark.parametrize("values", [1, 7, 200, 5000])
@pytest.mark.parametrize("is_text", [False, True])
def test_values_are_estimated_from_a_sample(values: int, is_text: bool) -> None:
    chance, sketch = random.Random(values), Sketch()
    for _ in range(16):
        sample = [chance.randrange(values) for _ in range(256)]
        sketch.add(pa.array([f"value {n}" if is_text else n for n in sample]))
    assert values * 0.7 <= sketch.values <= values * 1.4


def test_nothing_but_nulls() -> None:
    sketch = Sketch()
    sketch.add(pa.array([None, None], pa.float64()))
    assert sketch.values == pytest.approx(1)


def rows(every: int, keys: int) -> list[tuple[object, ...]]:
    chance = random.Random(every)
    return [(moment(at * SECOND // 10), chance.randrange(keys), chance.choice("xyz")) for at in range(0, 600, every)]


def running() -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(JOB)
    db.push("a", rows(1, 30))
    db.push("b", rows(5, 30))
    return db


def test_rates_and_values_of_streams() -> None:
    statistics = running()._running().statistics()
    assert statistics.rates["a"] == pytest.approx(10, rel=0.02) and statistics.rates["b"] == pytest.approx(2, rel=0.02)
    assert statistics.distinct["a", "k"] == pytest.approx(30, rel=0.2) and statistics.distinct["a", "v"] == pytest.approx(3, rel=0.2)


def test_rows_that_leave_a_negation_early() -> None:
    """Four rows of key 1 go when a row of it comes on the right; three come back, and go in their time with the five of key 0."""
    db = EmbeddedDatabase()
    db.execute(JOB)
    db.push("a", [(moment(second * SECOND), second % 2, "x") for second in range(10)])
    db.push("b", [(moment(9 * SECOND), 1, "x")])
    db.advance(100 * SECOND)
    shares = [counted.premature for counted in db._running().statistics().operators.values() if counted.premature is not None]
    assert shares == [pytest.approx(4 / 12)]


def test_explain_analyze_shows_both() -> None:
    db = running()
    lines = db.analyze("alone").splitlines()
    assert "real rate/s" in "".join(lines) and any(line.startswith("a: 10 rows/s; values: ") for line in lines)
    assert any("Combine" in line and line.endswith("%") for line in lines)
    assert not any("real" in line for line in db.explain("alone").splitlines())
    with pytest.raises(SashError, match='unknown view "nobody"'):
        db.execute("EXPLAIN ANALYZE VIEW nobody")


def test_analyze_runs_a_job(tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text(JOB)
    for name, every in (("a", 1), ("b", 5)):
        (tmp_path / f"{name}.csv").write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in rows(every, 30)))
    (tmp_path / "t.csv").write_text("1\n")
    result = CliRunner().invoke(main, ["explain", "--analyze", str(tmp_path / "job.sql")])
    assert result.exit_code == 0 and "real kept" in result.output and "a: 10 rows/s" in result.output
