"""Who may write to a checkpoint may ruin it, and reaches nothing outside of it and of the output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from without_spark import connected

from sash.errors import SashError
from sash.spark.sealed import SealedFolder

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 'in');
    CREATE TABLE t (k BIGINT, name STRING);
    CREATE MATERIALIZED VIEW v AS SELECT s.k, name FROM s [RANGE 1 SECOND] LEFT JOIN t ON s.k = t.k;
"""
BATCHES = 40  # more than are put down between two times of tidying


def put(folder: Path, numbers: range) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"in/{number:03d}.csv").write_text(f"2026-01-01 00:{number // 60:02d}:{number % 60:02d},{number}\n")


def begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SealedFolder:
    """A checkpoint that can be gone on with."""
    put(folder, range(3))
    db = connected(monkeypatch, folder, JOB, flush=False, batch_rows=1, history="1 SECOND")
    db.push("t", [(1, "ann")])
    db.run()
    db.close()
    place = SealedFolder.of(folder / "point")
    number = json.loads(bytes(place.demand("job.json")))["number"]
    return SealedFolder(place.place, number=number)


def gone_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, range(3, BATCHES))
    db = connected(monkeypatch, folder, JOB, flush=False, batch_rows=1, history="1 SECOND")
    try:
        db.run()
    finally:
        db.close()


def forged(folder: SealedFolder, name: str, change: Callable[[Any], Any]) -> None:
    """A file with a right seal and other contents."""
    folder.put(name, [json.dumps(change(json.loads(bytes(folder.demand(name))))).encode()])


@pytest.mark.parametrize(("output", "file"), [
    ("v.changes.parquet", "../../victims/precious.txt"), ("../victims", "precious.txt"), ("../victims", "../victims/precious.txt"),
])  # fmt: skip
def test_a_manifest_of_files_elsewhere_removes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, file: str) -> None:
    checkpoint = begun(tmp_path, monkeypatch)
    victim = tmp_path / "victims/precious.txt"
    victim.parent.mkdir()
    victim.write_text("mine")
    manifest = checkpoint.child("manifest")

    def change(known: Any) -> Any:
        part = [file, 0, 0, 1, 4, 0, 0, 0, 0]
        kept = known["outputs"].get(output) or {"since": -1, "answers": [], "changed": 0, "complete": 0}
        known["outputs"][output] = kept | {"parts": [part], "greatest": 10**15, "ended": 10**9}
        return known

    for name in manifest.names():
        if name.startswith("base-"):
            forged(manifest, name, change)
    with pytest.raises(SashError, match="is no name of a file in a folder"):
        gone_on(tmp_path, monkeypatch)
    assert victim.is_file() and victim.read_text() == "mine"


@pytest.mark.parametrize("option", ["plugin.library.paths", "ssl.engine.location", "ssl.providers", "sasl.kerberos.kinit.cmd"])
def test_a_statement_on_record_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    """What the session has not declared itself is declared as the checkpoint says; a table of Kafka could name a library there."""
    checkpoint = begun(tmp_path, monkeypatch)
    db = connected(monkeypatch, tmp_path, JOB, flush=False, batch_rows=1, history="1 SECOND")
    db.start()
    db.execute("CREATE MATERIALIZED VIEW later AS SELECT COUNT(*) AS n FROM s")
    db.drain()
    db.close()
    said = f"CREATE TABLE x (k BIGINT PRIMARY KEY) WITH (format = 'debezium', servers = 'h:1', topic = 't', kafka.{option} = 'evil');\n"
    jobs = checkpoint.child("jobs")
    forged(jobs, max(jobs.names()), lambda known: known | {"sql": said + known["sql"]})
    with pytest.raises(SashError, match=f"kafka.{option}.* names code that would be run, and SQL may come from anywhere"):
        gone_on(tmp_path, monkeypatch)
