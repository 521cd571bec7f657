"""Commands as a user types them: outputs, and one clear message with status 2 for every mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from sash.cli.main import main

STREAM = """CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts DELAY 2 SECONDS
  WITH (format = 'csv', path = 's.csv', header = 'true');
"""
ROWS = "ts,k,v\n2024-01-01 00:00:00,a,1\n2024-01-01 00:00:05,b,2\n2024-01-01 00:00:04,a,3\n2024-01-01 00:00:01,a,9\n" \
       "2024-01-01 00:00:06,b,x\n2024-01-01 00:00:09,a,4\n"
VIEW = "CREATE MATERIALIZED VIEW n AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM s [RANGE 4 SECONDS] GROUP BY k;\n"


def sash(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text(ROWS)
    (tmp_path / "job.sql").write_text(STREAM + VIEW)
    return tmp_path


def run_with(folder: Path, text: str, *words: object) -> Result:
    (folder / "job.sql").write_text(text)
    return sash("run", folder / "job.sql", "--engine", "embedded", *words)


def test_a_run_writes_changes_answer_late_and_dead_rows(folder: Path) -> None:
    result = sash("run", folder / "job.sql", "--engine", "embedded", "--output", folder / "out")
    assert result.exit_code == 0, result.output
    changes = pq.read_table(folder / "out/n.changes.parquet")
    assert changes.column_names == ["_op", "_ts", "k", "n", "s"]
    assert [str(field.type) for field in changes.schema][:2] == ["int8", "timestamp[us]"]
    assert pq.read_table(folder / "out/n.parquet").to_pylist() == [{"k": "a", "n": 1, "s": 4}]
    late = pq.read_table(folder / "out/s.late.parquet").to_pylist()
    assert [row["v"] for row in late] == [9]
    (dead,) = pq.read_table(folder / "out/s.dead.parquet").to_pylist()
    assert 'column "v"' in dead["reason"] and '"x"' in dead["reason"]
    assert "1 late rows" in result.output and "1 unreadable rows" in result.output


def test_until_gives_the_answer_at_that_instant(folder: Path) -> None:
    out = folder / "out"
    result = sash("run", folder / "job.sql", "--engine", "embedded", "--output", out, "--until", "2024-01-01 00:00:05")
    assert result.exit_code == 0, result.output
    assert pq.read_table(out / "n.parquet").to_pylist() == [{"k": "a", "n": 1, "s": 3}, {"k": "b", "n": 1, "s": 2}]


@pytest.mark.parametrize("expiry", ["direct", "negative"])
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_expiry_and_batches_change_nothing(folder: Path, expiry: str, rows: int) -> None:
    sash("run", folder / "job.sql", "--engine", "embedded", "--output", folder / "plain")
    words = ("--output", folder / "other", "--expiry", expiry, "--batch-rows", rows)
    assert sash("run", folder / "job.sql", "--engine", "embedded", *words).exit_code == 0
    plain, other = (pq.read_table(folder / name / "n.changes.parquet") for name in ("plain", "other"))
    assert plain.equals(other)


def test_a_run_writes_its_metrics(folder: Path) -> None:
    path = folder / "metrics.json"
    result = sash("run", folder / "job.sql", "--engine", "embedded", "--expiry", "time-message", "--metrics", path)
    assert result.exit_code == 0, result.output
    told = json.loads(path.read_text())
    assert told["run"]["rows"] == 4 and told["run"]["late"] == told["run"]["dead"] == 1
    assert told["views"]["n"]["changes"] == told["run"]["changes"] > 0
    assert told["operators"][0]["arcs"][0]["from"] == "s"


def test_explain_shows_plan_and_operators(folder: Path) -> None:
    result = sash("explain", folder / "job.sql")
    assert result.exit_code == 0
    assert "Window  [RANGE 4 SECONDS]" in result.output
    assert re.search(r"GroupBy .*by negative rows .*one line per group", result.output) and "shared" not in result.output


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("SELECT nope FROM s", r'line 3, column \d+: unknown column "nope".*columns are: ts, k, v'),
        ("SELECT k FROM s a JOIN s b ON a.k = b.k", r'line 3, column \d+: .*ambiguous'),
        ("SELECT k + DATE '2024-01-01' AS x FROM s", r"line 3, column \d+: "),
        ("SELECT k FROM other", r'line 3, column \d+: unknown stream, table or view "other"'),
        ("SELECT k, COUNT(*) AS n FROM s", r'line 3, column \d+: .*"k"'),
        ("SELECT k FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS]", r"line 3, column \d+: .*multiple"),
        ("SELECT k FROM s [RANGE", r"line 3, column \d+: "),
        ("SELECT k FRM s", r"line 3, column \d+: "),
    ],
)
def test_mistakes_in_sql_are_told_at_their_place(folder: Path, view: str, said: str) -> None:
    result = run_with(folder, f"{STREAM}CREATE MATERIALIZED VIEW n AS {view};")
    assert result.exit_code == 2
    assert re.search(said, result.output), result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STREAM.replace("s.csv", "gone.csv") + VIEW, "gone.csv"),
        (STREAM.replace("ts TIMESTAMP, k", "ts TIMESTAMP, q") + VIEW.replace("k", "q"), '"q"'),
        (STREAM.replace("header", "heador") + VIEW, "heador"),
        (STREAM, "no materialized view"),
        ("CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;" + VIEW, "has no source"),
        (STREAM.replace("TIMESTAMP BY ts", "TIMESTAMP BY k") + VIEW, "TIMESTAMP"),
    ],
)
def test_mistakes_in_a_job_are_named(folder: Path, text: str, said: str) -> None:
    result = run_with(folder, text)
    assert result.exit_code == 2
    assert said in result.output and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nonsense",), "No such option"),
        (("--expiry", "never"), "'never' is not one of"),
        (("--batch-rows", "0"), "is not in the range"),
        (("--shards", "2"), "--shards needs --engine spark"),
        (("--until", "tomorrow"), '"tomorrow" is not a timestamp'),
    ],
)
def test_wrong_flags(folder: Path, words: tuple[str, ...], said: str) -> None:
    result = sash("run", folder / "job.sql", "--engine", "embedded", *words)
    assert result.exit_code == 2
    assert said in result.output and "Traceback" not in result.output


def test_a_job_file_that_is_not_there() -> None:
    result = sash("run", "nowhere.sql")
    assert result.exit_code == 2 and "nowhere.sql" in result.output


def test_generated_streams_run_as_they_are(tmp_path: Path) -> None:
    assert sash("generate", "auctions", "--rows", 300, "--out", tmp_path, "--format", "parquet").exit_code == 0
    job = (tmp_path / "streams.sql").read_text()
    view = "CREATE MATERIALIZED VIEW v AS SELECT auction, MAX(price) AS best FROM bids [RANGE 1 MINUTE] GROUP BY auction;"
    (tmp_path / "job.sql").write_text(job + view)
    result = sash("run", tmp_path / "job.sql", "--engine", "embedded", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert pq.read_table(tmp_path / "out/v.changes.parquet").num_rows > 10
