"""Batches that pass through files of the checkpoint, from who runs them to who takes them: each once, and nothing stale is believed."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.spark import handing
from sash.spark.epochs import Replaced, claim_epoch
from sash.spark.handing import HANDED, Handing, Receiver, batch_of
from sash.spark.sealed import SealedFolder


class Packets:
    """What Spark gives to its callback, of which the session keeps what it is told."""

    def __init__(self, number: int) -> None:
        self.table = pa.table({"n": [number]})
        self.told: dict[str, str] = {}
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(set=self.told.__setitem__))

    def toArrow(self) -> pa.Table:
        return self.table


class Taking:
    def __init__(self, failure: Exception | None = None) -> None:
        self.taken: list[tuple[int, list[int]]] = []
        self.failure = failure

    def __call__(self, packets: Any, batch: int) -> None:
        if self.failure is not None:
            raise self.failure
        self.taken.append((batch, packets.toArrow()["n"].to_pylist()))


@pytest.fixture
def checkpoint(tmp_path: Path) -> SealedFolder:
    return SealedFolder(str(tmp_path), number="0" * 32)


def hand(checkpoint: SealedFolder, *batches: int, run: str = "r") -> list[Packets]:
    found = [Packets(10 * batch) for batch in batches]
    for batch, packets in zip(batches, found, strict=True):
        Handing(checkpoint, 0, run)(packets, batch)  # type: ignore[arg-type]
    return found


def test_every_batch_is_taken_once_and_leaves_nothing(checkpoint: SealedFolder) -> None:
    taking = Taking()
    receiver = Receiver(checkpoint, "r", taking)
    receiver.begin()
    told = hand(checkpoint, 0, 1, 1, 12)  # one is tried again
    assert taking.taken == [(0, [0]), (1, [10]), (1, [10]), (12, [120])]
    assert [packets.told for packets in told[::3]] == [{f"spark.sash.batch.{'0' * 32}": number} for number in ("0", "12")]
    receiver.stop()
    assert checkpoint.child(HANDED).names() == []


@pytest.mark.parametrize(("failure", "text"), [(SashError("no room", "make some"), "^no room; make some$"), (ValueError("odd"), "^ValueError: odd$")])
def test_what_goes_wrong_in_taking_fails_the_batch(checkpoint: SealedFolder, failure: Exception, text: str) -> None:
    receiver = Receiver(checkpoint, "r", Taking(failure))
    receiver.begin()
    with pytest.raises(SashError, match=text):
        hand(checkpoint, 3)
    receiver.stop()


def test_what_was_said_to_an_earlier_try_is_not_believed(checkpoint: SealedFolder) -> None:
    checkpoint.child(HANDED).put("r-5-abc.taken", [b'{"error": null}'])
    taking = Taking()
    thread = threading.Thread(target=hand, args=(checkpoint, 5), daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    receiver = Receiver(checkpoint, "r", taking)
    receiver.begin()
    thread.join(10)
    assert (thread.is_alive(), taking.taken) == (False, [(5, [50])])
    receiver.stop()


def test_a_try_that_was_given_up_is_not_taken_after_later_batches(checkpoint: SealedFolder) -> None:
    """Its packets lay there while a later batch was handed over; nobody waits for them."""
    taking = Taking()
    receiver = Receiver(checkpoint, "r", taking)
    receiver.begin()
    hand(checkpoint, 9, 10)
    checkpoint.child(HANDED).put("r-9-abc.told", [handing._bytes(pa.table({"n": [1]}))])
    hand(checkpoint, 11)
    receiver.stop()
    assert [batch for batch, _ in taking.taken] == [9, 10, 11]
    assert checkpoint.child(HANDED).names() == []


def test_a_store_that_fails_now_and_then_stops_nobody(checkpoint: SealedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, failures = random.Random(1), []

    def failing(name: str) -> None:
        method = getattr(SealedFolder, name)

        def sometimes(self: SealedFolder, *words: Any, **more: Any) -> Any:
            if threading.current_thread().name == "sash-batches" and chance.random() < 0.4:
                failures.append(name)
                raise OSError("try again")
            return method(self, *words, **more)

        monkeypatch.setattr(SealedFolder, name, sometimes)

    receiver = Receiver(checkpoint, "r", taking := Taking())
    failing("names")
    failing("put")
    receiver.begin()
    hand(checkpoint, *range(12))
    receiver.stop()
    assert [batch for batch, _ in taking.taken] == list(range(12)) and {"names", "put"} <= set(failures)


def test_what_drivers_left_that_are_no_more_is_removed(checkpoint: SealedFolder) -> None:
    checkpoint.child(HANDED).put("q-1-abc.told", [b"of another run"])
    receiver = Receiver(checkpoint, "r", Taking())
    receiver.begin()
    receiver.stop()
    assert checkpoint.child(HANDED).names() == []


def test_a_task_believes_no_number_but_that_of_the_batch_on_record(checkpoint: SealedFolder, tmp_path: Path) -> None:
    def context(**properties: str) -> Any:
        return SimpleNamespace(getLocalProperty=properties.get)

    (tmp_path / "spark/offsets").mkdir(parents=True)
    for name in ("7", "8", ".8.crc"):
        (tmp_path / "spark/offsets" / name).touch()
    key = f"spark.sash.batch.{'0' * 32}"
    assert batch_of(context(**{key: "8"}), checkpoint) == 8
    assert batch_of(context(**{key: "8", "streaming.sql.batchId": "3"}), checkpoint) == 3
    for stale in ({key: "7"}, {}, {f"spark.sash.batch.{'1' * 32}": "8"}):
        with pytest.raises(SashError, match="Spark does not tell a task which batch it is of"):
            batch_of(context(**stale), checkpoint)


def test_another_run_takes_nothing_of_this_one(checkpoint: SealedFolder) -> None:
    others = Taking()
    receivers = [Receiver(checkpoint, "q", others), Receiver(checkpoint, "r", taking := Taking())]
    for receiver in receivers:
        receiver.begin()
    hand(checkpoint, 0, 1)
    for receiver in receivers:
        receiver.stop()
    assert ([batch for batch, _ in taking.taken], others.taken) == ([0, 1], [])


def test_a_batch_whose_driver_was_replaced_ends(checkpoint: SealedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.spark.handing.FENCE", 0.02)
    mine = claim_epoch(checkpoint, 0)
    claim_epoch(checkpoint, mine)
    with pytest.raises(Replaced):
        Handing(checkpoint, mine, "r")(Packets(1), 1)  # type: ignore[arg-type]


def test_a_file_that_no_batch_was_handed_over_in_does_not_end_the_receiver(checkpoint: SealedFolder) -> None:
    """Its name is no number: the thread died of it, and Spark waited for ever."""
    taking = Taking()
    receiver = Receiver(checkpoint, "r", taking)
    receiver.begin()
    checkpoint.child(HANDED).put("r-x-abc.told", [b""])
    hand(checkpoint, 2)
    receiver.stop()
    assert taking.taken == [(2, [20])]
