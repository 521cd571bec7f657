"""Outputs have a manifest: files are merged, bounded, checked; nobody who reads them notices, but by finding fewer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from without_spark import AtOnce, connected, query_of

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.folders.folder import Folder
from sash.sources.listing import SourceFile
from sash.spark import tidying
from sash.spark.files import SeenFiles
from sash.spark.merging import BARRIER
from sash.spark.outputs import EMPTY
from sash.spark.sealed import SealedFolder

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts"
VIEW = "CREATE MATERIALIZED VIEW a AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 20 SECONDS] GROUP BY k;"
SQL = f"{STREAM} WITH (format = 'csv', path = 's');\n{VIEW}"
KEYS = ("ann", "bob", "cid", "-")


def rows(number: int) -> list[tuple[int, str, int]]:
    return [(number * 3 + place, KEYS[(number * 5 + place * 7) % 4], number % 10) for place in range(3)]


def put(folder: Path, number: int) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{number:05d}.csv").write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in rows(number)))


def played(patch: pytest.MonkeyPatch, folder: Path, numbers: range, db: SparkDatabase | None = None, **options: Any) -> SparkDatabase:
    """A batch for every file."""
    (folder / "s").mkdir(exist_ok=True)
    if db is None:
        db = connected(patch, folder, SQL, **options)
        db.start()
    for number in numbers:
        put(folder, number)
        query_of(db).processAllAvailable()
    return db


def embedded(numbers: range) -> pa.Table:
    db = EmbeddedDatabase()
    db.execute(f"{STREAM};\n{VIEW}")
    for number in numbers:
        db.push("s", rows(number))
    return db.changes("a")


def embedded_answer(count: int) -> list[dict[str, Any]]:
    db = EmbeddedDatabase()
    db.execute(f"{STREAM};\n{VIEW}")
    for number in range(count):
        db.push("s", rows(number))
    return db.view("a").to_pylist()


def in_order(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda row: (str(row["_ts"]), repr(row)))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "out/a.changes.parquet").iterdir() if path.name != EMPTY)


def changes(folder: Path) -> pa.Table:
    return pq.read_table(folder / "out/a.changes.parquet")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge after a few batches."""
    monkeypatch.setattr(tidying, "EVERY", 4)
    monkeypatch.setattr("sash.spark.merging.FEW_BATCHES", 6)
    monkeypatch.setattr("sash.spark.merging.FEW", 3)


def settled(db: SparkDatabase) -> None:
    db._running()._tidying.wait()


@pytest.mark.usefixtures("often")
def test_files_are_merged_and_a_plain_reader_sees_every_change_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = None
    counts = []
    for number in range(42):
        db = played(monkeypatch, tmp_path, range(number, number + 1), db)
        settled(db)
        if number % 9 == 5:
            assert in_order(changes(tmp_path)) == in_order(embedded(range(number + 1)))
        counts.append(len(files(tmp_path)))
    assert max(counts[20:]) <= 30 and any("-to-" in path.name for path in files(tmp_path))
    assert db is not None
    db.close()


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("goes_on", [True, False], ids=["while it goes on", "at the end"])
def test_a_task_that_wakes_up_after_its_batch_was_merged_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, goes_on: bool
) -> None:
    """One that was given up, and writes what another has written for it: a plain reader saw the changes of that batch twice."""
    db = played(monkeypatch, tmp_path, range(3))
    file = next(path for path in files(tmp_path) if path.name.startswith("batch-00000002-shard"))
    data = file.read_bytes()
    played(monkeypatch, tmp_path, range(3, 20), db)
    settled(db)
    assert not file.exists()
    file.write_bytes(data)
    if goes_on:
        played(monkeypatch, tmp_path, range(20, 36), db)
        settled(db)
        assert in_order(changes(tmp_path)) == in_order(embedded(range(36)))
    else:
        db._running()._tidying.finish()
    assert not file.exists()
    db.close()


@pytest.mark.usefixtures("often")
def test_the_files_of_a_run_to_the_end_are_few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number in range(9):
        put(tmp_path, number)
    db = connected(monkeypatch, tmp_path, SQL, batch_rows=3)
    db.run()
    assert len(files(tmp_path)) == 1
    whole = EmbeddedDatabase(base=tmp_path)
    whole.execute(SQL)
    whole.run()
    assert in_order(changes(tmp_path)) == in_order(whole.changes("a"))
    db.close()


class Killed(BaseException):
    """The driver is gone."""


def writes_of(monkeypatch: pytest.MonkeyPatch, kill_at: int) -> list[str]:
    """Puts and deletes, by name; at one of them the driver dies."""
    seen: list[str] = []
    put_file, delete = Folder.put, Folder.delete

    def counted(name: str) -> None:
        seen.append(name)
        if len(seen) > kill_at:
            raise Killed

    def putting(folder: Folder, name: str, *rest: Any, **more: Any) -> None:
        counted(name)
        put_file(folder, name, *rest, **more)

    def deleting(folder: Folder, name: str) -> None:
        counted(name)
        delete(folder, name)

    monkeypatch.setattr(Folder, "put", putting)
    monkeypatch.setattr(Folder, "delete", deleting)
    return seen


def plainly(folder: Path) -> pa.Table | None:
    """What a plain reader sees: everything, or an error."""
    try:
        return changes(folder)
    except (pa.ArrowInvalid, OSError):
        return None


@pytest.mark.usefixtures("often")
def test_a_crash_at_any_write_of_tidying_loses_and_repeats_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(13), shards=1)
    settled(db)
    db.stop()
    for name in ("point", "out", "s"):
        shutil.copytree(tmp_path / name, tmp_path / f"before/{name}")
    expected, answer = in_order(embedded(range(14))), embedded_answer(14)
    ends = 0
    for kill_at in range(100):
        for name in ("point", "out"):
            shutil.rmtree(tmp_path / name)
            shutil.copytree(tmp_path / f"before/{name}", tmp_path / name)
        db = connected(monkeypatch, tmp_path, SQL, shards=1)
        db.start()
        put(tmp_path, 13)
        host = db._running()
        host._tidying._next = 0
        with monkeypatch.context() as patch:
            patch.setattr(tidying, "Thread", AtOnce)
            patch.setattr("sash.spark.tidying.RETAIN", 0)
            patch.setattr("sash.spark.merging.FEW_BATCHES", 2)
            seen = writes_of(patch, kill_at)
            try:
                query_of(db).processAllAvailable()
                ends += 1
            except Killed:
                pass
            seen_by_all = plainly(tmp_path)
        assert seen_by_all is None or in_order(seen_by_all) in (expected, in_order(embedded(range(13))))
        db.stop()
        db = connected(monkeypatch, tmp_path, SQL, shards=1)
        db.start()
        query_of(db).processAllAvailable()
        assert in_order(changes(tmp_path)) == expected, seen[-1]
        assert db.view("a").to_pylist() == answer
        db.close()
        if ends:
            break
    assert ends and kill_at > 10


def damaged(folder: Path) -> Iterator[tuple[str, str]]:
    """Ways to spoil the output, each with what is said then."""
    first, last = files(folder)[0], files(folder)[-1]
    saved = {path: path.read_bytes() for path in files(folder)}

    def back() -> None:
        (folder / "out/a.changes.parquet").mkdir(parents=True, exist_ok=True)
        for path in files(folder):
            path.unlink()
        for path, data in saved.items():
            path.write_bytes(data)

    first.unlink()
    yield "missing", "the file .*batch-.* is missing"
    back()
    first.write_bytes(saved[first][:-1])
    yield "halved", "the file .* is damaged: it has"
    back()
    flipped = bytearray(saved[last])
    flipped[len(flipped) // 2] ^= 4
    last.write_bytes(flipped)
    yield "flipped", "the file .* is damaged: it is not what was written"
    back()
    shutil.rmtree(folder / "out")
    yield "gone", "is missing"
    back()
    (folder / "out/a.changes.parquet/mine.parquet").write_bytes(saved[first])
    yield "foreign", "mine.parquet is not of this job"
    back()
    (folder / "out/a.changes.parquet/batch-00000001-shard-007.parquet").write_bytes(saved[first])
    yield "foreign batch", "shard-007.parquet is not of this job"
    back()


def test_an_output_that_is_not_as_it_was_written_is_noticed_at_restart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It went on without a word, and its answers were wrong."""
    played(monkeypatch, tmp_path, range(5)).close()
    for what, message in damaged(tmp_path):
        db = connected(monkeypatch, tmp_path, SQL)
        with pytest.raises(SashError, match=message):
            db.start()
            put(tmp_path, 5)
            db.drain()
        (tmp_path / "s/00005.csv").unlink(missing_ok=True)
        db.close()
        assert what
    db = played(monkeypatch, tmp_path, range(5, 7))
    assert in_order(changes(tmp_path)) == in_order(embedded(range(7)))
    db.close()


def test_a_finished_job_whose_outputs_are_not_as_they_were_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It said that there was nothing to do."""
    db = played(monkeypatch, tmp_path, range(5))
    db.stop()
    db.run()
    db.close()
    before, empty = changes(tmp_path), tmp_path / "out/a.changes.parquet" / EMPTY
    whole = empty.read_bytes()
    for what, message in damaged(tmp_path):
        # The bytes of a file are looked at when it is read; a file of one batch may be left over from a merge.
        if what not in ("flipped", "foreign batch"):
            with pytest.raises(SashError, match=message):
                connected(monkeypatch, tmp_path, SQL).run()
    empty.write_bytes(b"")
    connected(monkeypatch, tmp_path, SQL).run()
    assert empty.read_bytes() == whole
    assert changes(tmp_path) == before


def test_a_lost_file_of_the_last_batch_is_written_again_by_its_shard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A batch that was answered but not committed: a shard gave its stored answer, and its file stayed away."""
    db = played(monkeypatch, tmp_path, range(5), shards=1)
    batch = db._running().progress.batch
    db.close()
    (tmp_path / f"point/spark/commits/{batch}").unlink()
    (tmp_path / f"point/manifest/batch-{batch + 1:08d}.json").unlink()
    files(tmp_path)[-1].unlink()
    db = played(monkeypatch, tmp_path, range(5, 6), shards=1)
    assert in_order(changes(tmp_path)) == in_order(embedded(range(6)))
    db.close()


def test_a_list_of_files_that_is_lost_is_an_error_though_the_files_were_archived(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What came then was taken for what had been read long ago, and left out."""
    played(monkeypatch, tmp_path, range(4)).close()
    for path in (tmp_path / "s").iterdir():
        path.unlink()
    (listed,) = (tmp_path / "point/files/s").iterdir()
    saved = listed.read_bytes()
    listed.unlink()
    put(tmp_path, 4)
    for _ in range(2):  # the second time as the first
        db = connected(monkeypatch, tmp_path, SQL)
        db.start()
        with pytest.raises(SashError, match=r"has lost the list of the files of stream \"s\""):
            query_of(db).processAllAvailable()
        db.close()
    listed.write_bytes(saved)
    db = played(monkeypatch, tmp_path, range(4, 5))
    assert in_order(changes(tmp_path)) == in_order(embedded(range(5)))
    db.close()


def test_a_new_file_costs_the_same_however_many_were_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = EmbeddedDatabase(base=tmp_path)
    stream.execute(SQL)
    spec = stream.catalog.streams["s"]
    (tmp_path / "s").mkdir()
    folder = SealedFolder.of(tmp_path / "files")
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    many = [SourceFile(f"/old/{number}.csv", number, number) for number in range(100_000)]
    SeenFiles(folder, spec, tmp_path)._add(many)
    put(tmp_path, 1)
    seen = SeenFiles(folder, spec, tmp_path)
    written: list[int] = []
    whole = SealedFolder.put
    monkeypatch.setattr(SealedFolder, "put", lambda self, name, parts: (written.append(len(parts[0])), whole(self, name, parts)))
    seen.look()
    assert len(written) == 1 and written[0] < 256 * 60
    assert [file.path for file in SeenFiles(folder, spec, tmp_path).files] == [*(f.path for f in many), str(tmp_path / "s/00001.csv")]
    names = sorted((tmp_path / "files/s").iterdir())
    names[7].unlink()
    with pytest.raises(SashError, match=r"00001792\.json is missing"):
        SeenFiles(folder, spec, tmp_path)


def test_files_that_have_been_read_are_only_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names are not read again at a restart; one that comes again is neither read again nor may it have changed."""
    stream = EmbeddedDatabase(base=tmp_path)
    stream.execute(SQL)
    spec, folder = stream.catalog.streams["s"], SealedFolder.of(tmp_path / "files")
    (tmp_path / "s").mkdir()
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    seen = SeenFiles(folder, spec, tmp_path)
    seen._add([SourceFile(str(tmp_path / f"s/{number:05d}.csv"), 7, number) for number in range(5000)])
    chain = seen.chain
    for read, first in ((2047, 0), (2300, 2048), (4000, 2048), (4999, 4864)):
        seen.forget(read)
        again = SeenFiles(folder, spec, tmp_path)
        assert again.first == seen.first == first and again.files == seen.files and len(seen.files) == 5000 - first
        assert again.begins_with(chain) and again.chain == seen.chain == chain
        assert not again.begins_with(chain[:-1] + "x")
    assert again.begins_with(again.chain) and len(folder.child("s").names()) == 2
    (tmp_path / "s/00017.csv").write_bytes(b"7 bytes")
    (tmp_path / "s/05000.csv").write_bytes(b"as new as can be")
    again.look()
    assert [Path(file.path).name for file in again.files[-2:]] == ["04999.csv", "05000.csv"]
    assert SeenFiles(folder, spec, tmp_path).begins_with(chain)
    (tmp_path / "s/00017.csv").write_bytes(b"other bytes")
    with pytest.raises(SashError, match=r"00017\.csv of stream \"s\" has changed since it was first read"):
        SeenFiles(folder, spec, tmp_path).look()
    known = tmp_path / "files/s/known-00004864"
    data = bytearray(known.read_bytes())
    data[200] ^= 1
    known.write_bytes(data)
    with pytest.raises(SashError, match="known-00004864 is damaged"):
        SeenFiles(folder, spec, tmp_path)
    known.unlink()
    with pytest.raises(SashError, match=r"00000000\.json is missing"):
        SeenFiles(folder, spec, tmp_path)


def test_a_driver_that_died_while_it_forgot_files_has_lost_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = EmbeddedDatabase(base=tmp_path)
    stream.execute(SQL)
    spec, folder = stream.catalog.streams["s"], SealedFolder.of(tmp_path / "files")
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    many = [SourceFile(f"/old/{number}.csv", number, number) for number in range(3000)]
    SeenFiles(folder, spec, tmp_path)._add(many)
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(SealedFolder, "delete", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        SeenFiles(folder, spec, tmp_path).forget(2999)
    seen = SeenFiles(folder, spec, tmp_path)
    assert seen.first == 2816 and seen.files == many[2816:]


def test_a_job_goes_on_after_its_files_were_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sash.spark.files.CHUNK", 2)
    monkeypatch.setattr("sash.spark.files.MANY", 4)
    for number in range(0, 24, 3):
        db = played(monkeypatch, tmp_path, range(number, number + 3))
        db.close()
    assert any(path.name.startswith("known-") for path in (tmp_path / "point/files/s").iterdir())
    assert in_order(changes(tmp_path)) == in_order(embedded(range(24)))


def test_a_manifest_that_is_not_whole_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(5))
    batch = db._running().progress.batch
    db.close()
    folder = tmp_path / "point/manifest"
    for name, message in (
        (f"batch-{batch + 1:08d}.json", "ends with batch .*, but batch .* has been answered"),
        (f"batch-{batch:08d}.json", "is not whole: a batch is missing"),
        (min(path.name for path in folder.glob("base-*")), "is gone"),
    ):
        saved = (folder / name).read_bytes()
        (folder / name).unlink()
        with pytest.raises(SashError, match=message):
            connected(monkeypatch, tmp_path, SQL).start()
        (folder / name).write_bytes(saved[:-3])
        with pytest.raises(SashError, match="is damaged"):
            connected(monkeypatch, tmp_path, SQL).start()
        (folder / name).write_bytes(saved)
    assert query_of(played(monkeypatch, tmp_path, range(5, 6))) is not None
    assert in_order(changes(tmp_path)) == in_order(embedded(range(6)))
    assert not (tmp_path / f"out/a.changes.parquet/{BARRIER}").exists()
