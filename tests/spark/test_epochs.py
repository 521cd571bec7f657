"""A checkpoint has one driver at a time: one that has been replaced is told, and changes nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import counting
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from without_spark import connected, query_of

from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.folders.folder import Bytes, Folder
from sash.runtime.packets import Cargo
from sash.spark import opened_job
from sash.spark.checkpoint import Checkpoint, make_checkpoint
from sash.spark.epochs import NONE, Replaced, check_epoch, claim_epoch, newest_epoch
from sash.spark.ledger import Ledger
from sash.spark.manifest import Manifest, ManifestFolder
from sash.spark.output_files import put_rows, shard_file
from sash.spark.output_folder import clear
from sash.spark.outputs import output_name
from sash.spark.sealed import SealedFolder

SQL = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 20 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM s [RANGE 7 SECONDS];
"""
ROWS = 40


@pytest.fixture
def checkpoint(tmp_path: Path) -> SealedFolder:
    return make_checkpoint(SealedFolder.of(tmp_path / "cp"), counting.job(counting.stream("events.csv"))).folder


def test_the_newest_claim_counts(checkpoint: SealedFolder) -> None:
    first = claim_epoch(checkpoint, newest_epoch(checkpoint))
    check_epoch(checkpoint, first)
    second = claim_epoch(checkpoint, newest_epoch(checkpoint))
    check_epoch(checkpoint, second)
    check_epoch(checkpoint, NONE)
    with pytest.raises(Replaced, match=r"another run \(process \d+ on .*\) has taken over the checkpoint"):
        check_epoch(checkpoint, first)


def test_two_that_connected_at_once_do_not_both_begin(checkpoint: SealedFolder) -> None:
    claim_epoch(checkpoint, 0)
    with pytest.raises(Replaced, match=r"has begun to use the checkpoint .* since this one connected; connect again"):
        claim_epoch(checkpoint, 0)


def test_a_claim_that_the_store_has_lost_is_none(checkpoint: SealedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drivers worked at once, and neither knew of the other."""
    monkeypatch.setattr(SealedFolder, "create", lambda *told: True)
    with pytest.raises(SashError, match=r"did not keep the file .*epochs/00000001.json"):
        claim_epoch(checkpoint, NONE)


def test_old_claims_are_forgotten(checkpoint: SealedFolder) -> None:
    for seen in range(100):
        assert claim_epoch(checkpoint, seen) == seen + 1
    assert len(checkpoint.child("epochs").names()) <= 16


def test_a_damaged_claim_counts_as_well(checkpoint: SealedFolder) -> None:
    first, second = claim_epoch(checkpoint, 0), claim_epoch(checkpoint, 1)
    Path(checkpoint.place, f"epochs/{second:08d}.json").write_bytes(b"")
    with pytest.raises(Replaced, match="another run has taken over"):
        check_epoch(checkpoint, first)


def write_rows(folder: Path) -> None:
    (folder / "s").mkdir()
    lines = (f"{second},{'abcd'[second % 4]},{second % 3}\n" for second in range(1, ROWS))
    (folder / "s/rows.csv").write_text("".join(lines))


def changes(db: SparkDatabase) -> dict[str, list[str]]:
    """What the outputs of all views hold by the manifest; and as a plain reader sees them, once a start has tidied up."""
    ledger, found = db._running().ledger, {}
    for view in ("counts", "total"):
        name = output_name(view, Cargo.CHANGES)
        found[view] = sorted(str(row) for table in ledger.read_all(name) for row in table.to_pylist())
        if not db.is_finished:
            assert sorted(map(str, pq.read_table(f"{ledger.output.place}/{name}").to_pylist())) == found[view]
    return found


Connect = Callable[[Path], SparkDatabase]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Connect:
    write_rows(tmp_path)

    def made(folder: Path) -> SparkDatabase:
        db = connected(monkeypatch, tmp_path, SQL, batch_rows=7)
        db._options |= {"checkpoint": folder / "point", "output": folder / "out"}
        return db

    return made


def test_another_temporary_folder_does_not_let_a_second_driver_in(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = connect(tmp_path), connect(tmp_path)
    first.start()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    with pytest.raises(SashError, match="another run is using this checkpoint"):
        second.start()
    first.drain()
    first.close()


class Sleeper:
    """A driver that falls asleep before a write; meanwhile another one, who sees no lock, does all that is to do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes: int, meanwhile: Callable[[], object]) -> None:
        self.left, self.meanwhile = writes, meanwhile
        self.is_over = False
        for kind in ("put", "create"):
            monkeypatch.setattr(Folder, kind, self.slept(getattr(Folder, kind)))
        monkeypatch.setattr(Folder, "local_path", None)

    def slept(self, write: Callable[..., object]) -> Callable[..., object]:
        def put(folder: Folder, name: str, parts: Iterator[Bytes], **options: object) -> object:
            self.left -= 1
            if self.left == 0:
                self.meanwhile()
                self.is_over = True
            return write(folder, name, parts, **options)

        return put


@pytest.mark.parametrize("flush", [True, False])
def test_a_driver_that_wakes_up_late_changes_nothing(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush: bool
) -> None:
    """At every one of its writes, or some: what the two leave, and a third one ends, is what one alone would have left."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    stride = int(os.environ.get("SASH_STRIDE", "9"))

    def runner(folder: Path) -> SparkDatabase:
        db = connect(folder)
        db._options["flush"] = flush
        return db

    def ended(folder: Path) -> SparkDatabase:
        db = runner(folder)
        db.run()
        return db

    expected = changes(ended(tmp_path / "calm"))
    assert all(len(rows) > 10 for rows in expected.values())
    writes, tries, replaced = 1 - stride + flush, 0, 0
    while True:
        writes, tries = max(1, writes + stride), tries + 1
        folder = tmp_path / f"late-{writes}"
        with monkeypatch.context() as patch:
            sleeper = Sleeper(patch, writes, lambda folder=folder: ended(folder))
            try:
                runner(folder).run()
            except SashError as error:
                replaced += 1
                assert "another" in str(error)
        assert changes(ended(folder)) == expected, writes
        if not sleeper.is_over:
            break
    assert writes > 50
    assert replaced >= tries // 2


def test_a_driver_that_was_replaced_while_it_merged_removes_nothing(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had asked whether it still was the one that runs, and slept. The other removed the merged files, of which nothing was on
    record yet; then it woke up, put down a manifest that had them, and removed the files that they were made of."""
    monkeypatch.setattr(Folder, "local_path", None)
    first, second = connect(tmp_path), connect(tmp_path)
    for db in (first, second):
        db._options["flush"] = False
    first.start()
    first.drain()
    before = changes(first)
    put_base, is_late = ManifestFolder.put_base, []

    def late(record: ManifestFolder, manifest: Manifest, epoch: int, fence: Callable[[], None]) -> None:
        if not is_late:
            is_late.append(epoch)
            second.start()
            assert changes(second) == before
        put_base(record, manifest, epoch, fence)

    monkeypatch.setattr(ManifestFolder, "put_base", late)
    with pytest.raises(Replaced):
        first._running()._tidying.finish()
    assert is_late
    assert changes(second) == before
    second.drain()
    second.close()
    third = connect(tmp_path)
    third._options["flush"] = False
    third.start()
    assert changes(third) == before
    third.close()


def test_who_is_about_to_begin_anew_finds_that_the_one_before_has_begun(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had seen that nothing was there, and slept before it took over; then it emptied the folders of outputs."""
    monkeypatch.setattr(Folder, "local_path", None)
    monkeypatch.setattr(Ledger, "begin", lambda *told: (_ for _ in ()).throw(SashError("asleep")))
    with pytest.raises(SashError, match="asleep"):
        connect(tmp_path)._running()
    monkeypatch.undo()
    monkeypatch.setattr(Folder, "local_path", None)
    name, rows = output_name("total", Cargo.CHANGES), pa.table({"_op": pa.array([1], pa.int8())})
    claim = opened_job.claim_epoch

    def slowly(checkpoint: SealedFolder, seen: int) -> int:
        """Meanwhile the first one goes on."""
        first = Ledger(checkpoint, Folder.of(tmp_path / "out"))
        first.epoch, first.fence = seen, lambda: check_epoch(checkpoint, seen)
        first.begin(job)
        first.record.put_batch(0, {name: [put_rows(first.output.child(name), shard_file(0, 0), 0, rows)]})
        return claim(checkpoint, seen)

    second = connect(tmp_path)
    job = second._fresh_job()
    monkeypatch.setattr(opened_job, "claim_epoch", slowly)
    ledger = second._running().ledger
    assert ledger.manifest.batch == 0 and len(ledger.manifest.kept(name).parts) == 1
    assert list(ledger.read_all(name)) == [rows]
    second.close()


def test_a_task_of_a_driver_that_was_replaced_writes_nothing(connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Folder, "local_path", None)
    first = connect(tmp_path)
    first.start()
    first.drain()
    host = first._running()
    claim_epoch(host._settings.checkpoint, newest_epoch(host._settings.checkpoint))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with (tmp_path / "s/more.csv").open("w") as file:
        file.write("70,a,1\n")
    with pytest.raises(Replaced):
        first.drain()
    with pytest.raises(Replaced):
        first.start() if first.stop() is None else None  # type: ignore[func-returns-value]
    assert {path: path.read_bytes() for path in before} == before


def test_files_of_another_batch_of_the_same_number_are_not_read(tmp_path: Path) -> None:
    from sash.spark.store import History

    folder = replace(SealedFolder.of(tmp_path), number="x")
    mine, theirs = History(folder, lambda batch: "aaaa"), History(folder, lambda batch: "bbbb")
    theirs.put_log(3, [])
    theirs.put_answer(3, [])
    theirs.put_snapshot(3, tmp_path / "none", "{}")
    assert mine.log(3) is None
    assert mine.answer(3) is None
    assert mine.snapshots(9) == []
    assert History(folder).log(3) == []
    mine.put_log(3, [])
    assert History(folder).log(3) is None
    assert (mine.log(3), theirs.log(3)) == ([], [])


def test_who_was_replaced_while_it_looked_into_a_folder_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asked first and looked then: what it saw could be its successor's files."""
    (tmp_path / "batch-00000000-shard-000.parquet").touch()
    happened: list[str] = []
    names = Folder.names
    monkeypatch.setattr(Folder, "names", lambda folder: happened.append("looked") or names(folder))

    def replaced() -> None:
        happened.append("asked")
        raise Replaced("another run has taken over")

    with pytest.raises(Replaced):
        clear(Folder.of(tmp_path), replaced)
    assert happened == ["looked", "asked"] and len(list(tmp_path.iterdir())) == 1


def test_a_bounded_run_that_finds_everything_done_by_another_driver_says_so(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended without a word, with the answers of before."""
    monkeypatch.setattr(Folder, "local_path", None)  # no lock is seen
    first, opened = connect(tmp_path), Ledger.open

    def sleepy_open(ledger: Ledger, *told: object) -> None:
        opened(ledger, *told)  # type: ignore[arg-type]
        monkeypatch.setattr(Ledger, "open", opened)
        connect(tmp_path).run()

    first.start()
    first.drain()
    first.stop()
    monkeypatch.setattr(Ledger, "open", sleepy_open)
    with pytest.raises(Replaced, match="has taken over the checkpoint"):
        first.run()


def test_who_made_a_checkpoint_that_another_driver_found_and_ran_empties_nothing(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fell asleep before it claimed the checkpoint, and began anew when another one had done everything."""
    monkeypatch.setattr(Folder, "local_path", None)  # no lock is seen
    done: list[dict[str, list[str]]] = []

    def sleepy_make(*told: object) -> Checkpoint:
        made = make_checkpoint(*told)  # type: ignore[arg-type]
        monkeypatch.setattr(opened_job, "make_checkpoint", make_checkpoint)
        second = connect(tmp_path)
        second.run()
        done.append(changes(second))
        return made

    monkeypatch.setattr(opened_job, "make_checkpoint", sleepy_make)
    with pytest.raises(Replaced, match="since this one connected"):
        connect(tmp_path).run()
    assert done and changes(connect(tmp_path)) == done[0]


@pytest.mark.parametrize("waits", [lambda db: db.execute("CREATE MATERIALIZED VIEW one AS SELECT k FROM s [ROWS 1]"), lambda db: db.drain()])
def test_who_waits_for_a_batch_that_another_driver_has_done_is_told(
    waits: Callable[[SparkDatabase], object], connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for ever."""
    monkeypatch.setattr(Folder, "local_path", None)  # no lock is seen
    first = connect(tmp_path)
    first.start()
    query = query_of(first)

    def sleepy() -> None:
        monkeypatch.setattr(query, "exception", lambda: None)
        monkeypatch.setattr(query, "processAllAvailable", lambda: None)
        connect(tmp_path).run()

    monkeypatch.setattr(query, "exception", sleepy)
    monkeypatch.setattr(query, "processAllAvailable", sleepy)
    with pytest.raises(SashError, match="has taken over the checkpoint"):
        waits(first)
