"""A file of a checkpoint is what was written, or it is an error; nothing of it is interpreted before that is known."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import counting
import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.spark.checkpoint import Checkpoint, check_events, events_after, find_checkpoint, make_checkpoint
from sash.spark.sealed import DamagedFile, MissingFile, SealedFolder
from sash.spark.store import History

JOB = counting.job(counting.stream("events.csv"))


@pytest.fixture
def folder(tmp_path: Path) -> SealedFolder:
    return replace(SealedFolder.of(tmp_path), number="some").child("deep", "er")


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("parts", [[], [b""], [b"one ", memoryview(b"two")], [pa.py_buffer(b"x" * 5000)]])
def test_what_was_written_is_read(folder: SealedFolder, parts: list) -> None:
    folder.put("a", parts)
    assert bytes(folder.read("a") or b"") == b"".join(parts)
    assert folder.demand("a").address % 64 == 0
    assert folder.read("b") is None


def test_every_flipped_bit_is_noticed(folder: SealedFolder) -> None:
    folder.put("a", [b"a small body"])
    path = Path(folder.place, "a")
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        path.write_bytes(flipped(whole, bit))
        with pytest.raises(DamagedFile, match=r"deep/er/a is damaged: .*; bring it back from a copy"):
            folder.read("a")


def test_every_cut_and_every_byte_too_many_is_noticed(folder: SealedFolder) -> None:
    folder.put("a", [b"a small body"])
    path = Path(folder.place, "a")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedFile):
            folder.read("a")
    path.write_bytes(whole + b"\0")
    with pytest.raises(DamagedFile):
        folder.read("a")


def test_a_file_of_another_name_or_another_checkpoint_is_noticed(folder: SealedFolder) -> None:
    folder.put("a", [b"body"])
    Path(folder.place, "a").rename(Path(folder.place, "b"))
    with pytest.raises(DamagedFile, match="it is the file deep/er/a of a checkpoint"):
        folder.read("b")
    replace(folder, number="another").put("a", [b"body"])
    with pytest.raises(DamagedFile, match="belongs to another checkpoint"):
        folder.read("a")


def test_what_is_demanded_must_be_there(folder: SealedFolder) -> None:
    with pytest.raises(MissingFile, match=r"er/a is missing; bring it back"):
        folder.demand("a")


def test_two_cannot_create_one_file(folder: SealedFolder) -> None:
    assert folder.create("a", [b"first"])
    assert not folder.create("a", [b"second"])
    assert bytes(folder.demand("a")) == b"first"
    assert [path.name for path in Path(folder.place).iterdir()] == ["a"]


def test_a_snapshot_without_its_last_piece_is_not_restored(folder: SealedFolder, tmp_path: Path) -> None:
    """Even one whose seal is whole, were it written so: the header's size is compared."""
    (tmp_path / "arena").write_bytes(random.Random(1).randbytes(3 << 20))
    history = History(folder)
    history.put_snapshot(3, tmp_path / "arena", "{}")
    whole = bytes(history.snapshot(3))
    line = whole.index(b"\n") + 1
    folder.child("snapshots").put("00000003", [whole[:line]])
    with pytest.raises(DamagedFile, match="it holds 0 bytes of state, and speaks of 3145728"):
        history.restore(3, history.snapshot(3), tmp_path / "again")


def test_a_damaged_answer_is_made_again(folder: SealedFolder) -> None:
    history = History(folder)
    history.put_answer(3, [])
    assert history.answer(3) == []
    Path(folder.place, "answers", "00000003").write_bytes(b"?")
    assert history.answer(3) is None


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    made = make_checkpoint(SealedFolder.of(tmp_path / "cp"), JOB)
    for time in range(5):
        made.ask({"advance": time})
    return made


@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize("seen", range(6))
def test_a_lost_control_event_is_noticed(checkpoint: Checkpoint, number: int, seen: int) -> None:
    """All but those that have been seen and are not the last, which nobody asks for again."""
    name = f"{number:08d}.json"
    checkpoint.folder.child("control").delete(name)

    def taken_up() -> list:
        check_events(checkpoint.folder, seen)
        return events_after(checkpoint.folder, seen)

    if number <= seen and number < 5:
        assert [event["advance"] for event in taken_up()] == list(range(seen, 5))
    else:
        with pytest.raises(MissingFile, match=name):
            taken_up()


def test_an_event_is_never_asked_for_under_the_number_of_a_lost_one(checkpoint: Checkpoint) -> None:
    checkpoint.folder.child("control").delete("00000005.json")
    checkpoint.ask({"advance": 5})
    with pytest.raises(MissingFile, match=r"00000005\.json"):
        events_after(checkpoint.folder, 3)


@pytest.mark.parametrize("damage", [None, b"", b"?" * 200])
def test_the_number_of_events_only_stands_by(checkpoint: Checkpoint, damage: bytes | None) -> None:
    path = Path(checkpoint.folder.place, "asked.json")
    path.unlink() if damage is None else path.write_bytes(damage)
    check_events(checkpoint.folder, 5)
    checkpoint.ask({"advance": 5})
    assert [event["advance"] for event in events_after(checkpoint.folder, 4)] == [4, 5]


def test_a_checkpoint_of_an_earlier_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"format": 4, "number": "x"}))
    with pytest.raises(SashError, match="was made by another version of Sash"):
        find_checkpoint(SealedFolder.of(tmp_path), JOB)


def test_a_damaged_checkpoint_is_refused(checkpoint: Checkpoint) -> None:
    path = Path(checkpoint.folder.place, "job.json")
    path.write_bytes(flipped(path.read_bytes(), 900))
    with pytest.raises(DamagedFile, match=r"job\.json is damaged"):
        find_checkpoint(replace(checkpoint.folder, number=""), JOB)
