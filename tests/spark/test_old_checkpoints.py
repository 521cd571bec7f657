"""Nothing in a checkpoint is executed; one of another format is refused before anything of it is looked at."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from without_spark import connected

from checkpoints import make
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.spark.checkpoint import FORMAT
from sash.spark.sealed import SealedFolder, opened

KEPT = Path(__file__).parent.parent / "checkpoints"
S = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true');"
N = "CREATE MATERIALIZED VIEW n AS SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k"
LATER = "CREATE MATERIALIZED VIEW later AS SELECT k, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k"


class Malice:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


def pickled(path: Path) -> bytes:
    data = pickle.dumps((Malice(path), {}))
    return json.dumps({"job": base64.b64encode(data).decode(), "sql": "", "fingerprint": {}}).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text("ts,k,v\n1,a,1\n2,b,2\n3,a,3\n")
    os.utime(tmp_path / "s.csv", (1, 1))
    return tmp_path


def connect(monkeypatch: pytest.MonkeyPatch, folder: Path) -> SparkDatabase:
    return connected(monkeypatch, folder, S + N, shards=1)


@pytest.mark.parametrize("kept", [path for path in sorted(KEPT.glob("format-*")) if path.name != f"format-{FORMAT}"], ids=lambda path: path.name)
def test_a_checkpoint_of_an_old_format_is_refused_and_not_loaded(monkeypatch: pytest.MonkeyPatch, folder: Path, kept: Path) -> None:
    shutil.copytree(kept / "point", folder / "point")
    for path in (folder / "point/jobs").iterdir():
        path.write_bytes(pickled(folder / "ran"))
    before = {path: path.read_bytes() for path in (folder / "point").rglob("*") if path.is_file()}
    with pytest.raises(SashError, match=f"made by another version of Sash .its format is {kept.name[7:]}, that of this one {FORMAT}.; give another"):
        connect(monkeypatch, folder).start()
    assert not (folder / "ran").exists()
    assert before == {path: path.read_bytes() for path in (folder / "point").rglob("*") if path.is_file()}
    pickle.loads(base64.b64decode(json.loads(pickled(folder / "ran"))["job"]))
    assert (folder / "ran").exists()  # it would have


def test_the_checkpoint_that_is_kept_of_this_format_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A change of the code that cannot read what earlier code wrote needs another format, once this one is released."""
    shutil.copytree(KEPT / f"format-{FORMAT}", tmp_path, dirs_exist_ok=True)
    db = connected(monkeypatch, tmp_path, make.JOB, shards=1)
    db.start()
    db.drain()
    assert answer(db, "n") == {("a", 2), ("b", 2), ("c", 1)}
    assert answer(db, "later") == {("a", 4, 1.5), ("b", 7, 2.5)}
    db.execute("INSERT INTO t VALUES ('a', 100)")
    db.advance("2024-01-01 00:00:03")
    db.drain()
    assert answer(db, "n") == {("a", 3), ("b", 2), ("c", 1)}
    assert answer(db, "later") == {("a", 104, 50.0), ("b", 7, 2.5)}
    db.close()


def answer(db: SparkDatabase, view: str) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in db.view(view).to_pylist()}


def with_later_view(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    db = connect(monkeypatch, folder)
    db.start()
    db.drain()
    db.execute(LATER)
    db.drain()
    db.close()


def unsealed(path: Path) -> bytes:
    return bytes(opened(pa.py_buffer(path.read_bytes()))[1])


def replace_file(point: Path, name: str, data: bytes) -> None:
    """With a seal that is good."""
    number = json.loads(unsealed(point / "job.json"))["number"]
    folder = SealedFolder.of(point)
    folder = folder if name == "job.json" else replace(folder, number=number)
    *parents, last = name.split("/")
    folder.child(*parents).put(last, [data]) if parents else folder.put(last, [data])


@pytest.mark.parametrize("number", ["00000000", "00000001"])
@pytest.mark.parametrize("inside", ["a pickle", "a pickle as it was stored", "a pickle in place of plans"])
def test_a_pickle_in_a_checkpoint_does_not_run(monkeypatch: pytest.MonkeyPatch, folder: Path, number: str, inside: str) -> None:
    with_later_view(monkeypatch, folder)
    stored, record = pickled(folder / "ran"), json.loads(unsealed(folder / "point/jobs" / number))
    data = {
        "a pickle": pickle.dumps(Malice(folder / "ran")), "a pickle as it was stored": stored,
        "a pickle in place of plans": json.dumps(record | {"plans": json.loads(stored)["job"]}).encode(),
    }[inside]  # fmt: skip
    replace_file(folder / "point", f"jobs/{number}", data)
    with pytest.raises(SashError, match=f"jobs/{number}"):
        connect(monkeypatch, folder).start()
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": "../../../x"}, "job.json cannot be read"),
        ({"format": None}, "made by another version"),
        ({"views": 3}, "job.json cannot be read"),
        ({"more": 3}, "job.json cannot be read"),
    ],
)
def test_whose_a_checkpoint_is_must_be_clear(monkeypatch: pytest.MonkeyPatch, folder: Path, change: dict[str, object], message: str) -> None:
    """The number names a folder of arenas, so it had better be one."""
    with_later_view(monkeypatch, folder)
    told = json.loads(unsealed(folder / "point/job.json"))
    replace_file(folder / "point", "job.json", json.dumps(told | change).encode())
    with pytest.raises(SashError, match=message):
        connect(monkeypatch, folder).start()


@pytest.mark.parametrize("text", ["", "[]", "{", "\x80", "null"])
def test_job_files_of_something_else(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    with_later_view(monkeypatch, folder)
    for name in ("job.json", "jobs/00000001"):
        whole = (folder / "point" / name).read_bytes()
        replace_file(folder / "point", name, text.encode("latin-1"))
        with pytest.raises(SashError, match=f"{name} cannot be read"):
            connect(monkeypatch, folder).start()
        (folder / "point" / name).write_bytes(whole)
