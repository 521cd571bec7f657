"""With a secret in the environment nobody else can write a file of a checkpoint that is believed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from without_spark import connected

from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.spark.sealed import SECRET, DamagedFile, ForeignSeal, SealedFolder, opened

OURS, THEIRS = "0123456789abcdef" * 4, "fedcba9876543210" * 4
JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 'in');
    CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n FROM s [RANGE 100 SECONDS] GROUP BY k;
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedFolder:
    monkeypatch.setenv(SECRET, OURS)
    return SealedFolder(str(tmp_path), number="some")


def test_what_was_sealed_with_the_secret_is_read_with_it(folder: SealedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put("a", [b"one ", b"two"])
    assert folder.create("b", [b"three"])
    assert bytes(folder.demand("a")) == b"one two" and bytes(folder.demand("b")) == b"three"
    monkeypatch.setenv(SECRET, THEIRS)
    with pytest.raises(DamagedFile, match="or SASH_SEAL_SECRET is not that of the checkpoint"):
        folder.read("a")
    monkeypatch.delenv(SECRET)
    with pytest.raises(ForeignSeal, match="/a is sealed with a secret; let SASH_SEAL_SECRET hold it, also where Spark's tasks run"):
        folder.read("a")


def test_a_seal_without_the_secret_is_none(folder: SealedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET)
    folder.put("a", [b"one"])
    monkeypatch.setenv(SECRET, OURS)
    with pytest.raises(ForeignSeal, match="/a is not sealed with the secret; if the checkpoint was begun without one, unset SASH_SEAL_SECRET"):
        folder.read("a")


def test_a_flipped_bit_is_noticed_with_a_secret_too(folder: SealedFolder, tmp_path: Path) -> None:
    folder.put("a", [b"a small body"])
    whole = (tmp_path / "a").read_bytes()
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "a").write_bytes(changed)
        with pytest.raises(DamagedFile):
            folder.read("a")


@pytest.mark.parametrize("given", ["short", "ü" * 40])
def test_a_secret_that_keeps_nobody_out_is_refused(folder: SealedFolder, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(SECRET, given)
    with pytest.raises(SashError, match="not long enough to keep anybody out, or not ASCII; let it hold 16 characters"):
        folder.put("a", [b""])


def put(folder: Path, *numbers: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"in/{number}.csv").write_text(f"2026-01-01 00:00:{number:02d},{number % 2}\n")


def run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[dict[str, object]]:
    db = connected(monkeypatch, folder, JOB, shards=1, flush=False, batch_rows=1)
    try:
        db.run()
        return sorted(db.view("v").to_pylist(), key=repr)
    finally:
        db.close()


def sealed_files(folder: Path) -> Iterator[Path]:
    point = folder / "point"
    yield from (path for path in sorted(point.rglob("*")) if path.is_file() and "spark" not in path.relative_to(point).parts and path.name[0] != ".")


def test_a_job_goes_on_with_its_secret_and_with_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, OURS)
    put(tmp_path, 1, 2, 3)
    run(monkeypatch, tmp_path)
    assert [path for path in sealed_files(tmp_path) if not path.read_bytes().startswith(b"SASHKEY\5")] == []
    put(tmp_path, 4)
    for other in ("", THEIRS):
        monkeypatch.setenv(SECRET, other)
        with pytest.raises(SashError, match=SECRET):
            run(monkeypatch, tmp_path)
    monkeypatch.setenv(SECRET, OURS)
    assert run(monkeypatch, tmp_path) == [{"k": 0, "n": 2}, {"k": 1, "n": 2}]


def test_a_forged_snapshot_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is right, and its bytes would be memory that kernels trust."""
    monkeypatch.setenv(SECRET, OURS)
    put(tmp_path, *range(1, 25))
    run(monkeypatch, tmp_path)
    monkeypatch.delenv(SECRET)
    for path in (found := list((tmp_path / "point/shards/1/0/snapshots").iterdir())):
        data = path.read_bytes()
        header, body = opened_of(data)
        noise = random.Random(1).randbytes(len(body))
        forger = SealedFolder(str(path.parent), path="/".join(header["is"].split("/")[:-1]), number=header["of"])
        forger.put(path.name, [body[:200] + noise[200:]])
    assert found
    monkeypatch.setenv(SECRET, OURS)
    put(tmp_path, 25)
    with pytest.raises(ForeignSeal, match="is not sealed with the secret"):
        run(monkeypatch, tmp_path)


def opened_of(data: bytes) -> tuple[dict[str, str], bytes]:
    """Header and body of a file, by who knows no secret."""
    import hashlib

    import pyarrow as pa

    plain = b"SASH\0\0\0\5" + data[8:-16]
    header, body = opened(pa.py_buffer(plain + hashlib.sha256(plain).digest()[:16]))
    return header, bytes(body)


def test_workers_of_a_session_that_was_there_before_know_the_secret(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java has the environment that it was started with, and workers have Java's."""
    monkeypatch.setenv(SECRET, OURS)
    monkeypatch.setattr(spark.sparkContext, "environment", dict(spark.sparkContext.environment))
    put(tmp_path, 1, 2, 3)
    for _ in range(2):
        db = SparkDatabase(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2, base=tmp_path, flush=False)
        db.execute(JOB)
        db.run()
        assert sorted(db.view("v").to_pylist(), key=repr) == [{"k": 0, "n": 1}, {"k": 1, "n": 2}]
        db.close()
    assert {path.read_bytes()[:8] for path in sealed_files(tmp_path)} == {b"SASHKEY\5"}
