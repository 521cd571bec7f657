"""A shard answers every batch once and for all, whatever became of its arena."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import counting
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.runtime.packets import Cargo, Packet, batch_body
from sash.spark.arenas import held
from sash.spark.outputs import output_name
from sash.spark.sealed import SealedFolder
from sash.spark.settings import Settings
from sash.spark.shard_task import ShardTask
from sash.stores.arena import Arena

JOB = counting.job(counting.stream(None), shards=1)


@pytest.fixture
def keeper(tmp_path: Path) -> ShardTask:
    folders = SealedFolder.of(tmp_path / "cp"), Folder.of(tmp_path / "out")
    settings = Settings(".", *folders, tmp_path / "arenas", snapshot_every=4)
    return ShardTask(JOB, settings, counting.Counting, 1, 0)


def packets(batch: int) -> list[Packet]:
    keys = np.arange(batch * 7, batch * 7 + 5) % counting.KEYS
    rows = pa.record_batch({"ts": pa.array(keys).cast(pa.timestamp("us")), "key": keys, "value": keys})
    return [Packet(1, 0, Cargo.ROWS, "events", 0, 0, batch_body(rows))]


def run(keeper: ShardTask, batches: range) -> list[list[Packet]]:
    return [keeper.answer(batch, packets(batch)) for batch in batches]


def output(keeper: ShardTask) -> dict[str, bytes]:
    folder = Path(keeper.settings.output.place)
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("batch-*"))}


def changes(keeper: ShardTask) -> pa.Table:
    return pq.read_table(keeper.settings.output.child(output_name(JOB.views[0].name, Cargo.CHANGES)).place)


def meta_path(keeper: ShardTask) -> Path:
    return keeper.settings.arenas / "1-0.json"


@pytest.fixture
def expected(keeper: ShardTask, tmp_path: Path) -> tuple[list[list[Packet]], dict[str, bytes]]:
    """The answers and outputs of an undisturbed run."""
    calm = replace(
        keeper,
        settings=replace(
            keeper.settings, checkpoint=SealedFolder.of(tmp_path / "calm/cp"), output=Folder.of(tmp_path / "calm/out"),
            arenas=tmp_path / "calm/arenas",
        ),
    )
    return run(calm, range(12)), output(calm)


def test_a_retry_gets_the_stored_answer_and_counts_nothing_twice(keeper: ShardTask, expected: tuple) -> None:
    answers = [answer for batch in range(12) for answer in run(keeper, range(batch, batch + 1)) * 2]
    assert answers == [answer for answer in expected[0] for _ in range(2)]
    assert output(keeper) == expected[1]


def test_a_deleted_arena_is_rebuilt_at_every_batch(keeper: ShardTask, expected: tuple) -> None:
    answers = []
    for batch in range(12):
        shutil.rmtree(keeper.settings.arenas, ignore_errors=True)
        answers += run(keeper, range(batch, batch + 1))
    assert answers == expected[0]
    assert output(keeper) == expected[1]


def test_a_torn_arena_is_rebuilt(keeper: ShardTask, expected: tuple) -> None:
    answers = run(keeper, range(7))
    arena = keeper.settings.arenas / "1-0.arena"
    arena.write_bytes(b"\7" * arena.stat().st_size)
    with held(keeper.settings.arenas, 1, 0) as arena_file:
        arena_file._write_meta(replace(arena_file.meta, is_dirty=True))
    assert answers + run(keeper, range(7, 12)) == expected[0]
    assert output(keeper) == expected[1]


def test_an_arena_of_another_boot_is_rebuilt(keeper: ShardTask, expected: tuple) -> None:
    answers = run(keeper, range(7))
    arena = keeper.settings.arenas / "1-0.arena"
    arena.write_bytes(b"\7" * arena.stat().st_size)
    with held(keeper.settings.arenas, 1, 0) as arena_file:
        arena_file._write_meta(replace(arena_file.meta, boot="an earlier one"))
    assert answers + run(keeper, range(7, 12)) == expected[0]


def _overwrite(arena: Path, other: Path) -> None:
    with open(arena, "r+b") as file:
        file.write(b"\7" * 64)


def _overwrite_through_a_map(arena: Path, other: Path) -> None:
    opened = Arena.open(arena, json.dumps({"all": (0, 4096, "<i8", (512,))}))
    opened.array("all", (512,))[:] = 7
    opened.close()


def _bring_back(arena: Path, other: Path) -> None:
    shutil.copy2(other, arena)


def _exchange(arena: Path, other: Path) -> None:
    shutil.copy2(other, arena.with_suffix(".back"))
    arena.with_suffix(".back").rename(arena)


def _cut(arena: Path, other: Path) -> None:
    os.truncate(arena, arena.stat().st_size // 2)


@pytest.mark.parametrize("damage", [_overwrite, _overwrite_through_a_map, _bring_back, _exchange, _cut, lambda arena, _: arena.unlink()])
def test_an_arena_that_is_not_as_it_was_left_is_rebuilt(
    keeper: ShardTask, expected: tuple, tmp_path: Path, damage: Callable[[Path, Path], None]
) -> None:
    answers = run(keeper, range(5))
    arena, older = keeper.settings.arenas / "1-0.arena", tmp_path / "older"
    shutil.copy2(arena, older)
    answers += run(keeper, range(5, 7))
    damage(arena, older)
    assert answers + run(keeper, range(7, 12)) == expected[0]
    assert output(keeper) == expected[1]


def test_older_facts_do_not_make_an_arena_an_older_one(keeper: ShardTask, expected: tuple) -> None:
    """They say that it has not met a batch that is in it, or that nobody left it half written."""
    answers = run(keeper, range(5))
    facts = meta_path(keeper).read_bytes()
    answers += run(keeper, range(5, 7))
    meta_path(keeper).write_bytes(facts)
    answers += run(keeper, range(7, 9))
    facts = meta_path(keeper).read_bytes()
    with held(keeper.settings.arenas, 1, 0) as arena_file:
        torn = arena_file.open()
        torn.array("job", (1,))[:] = 7
        torn.close()
    meta_path(keeper).write_bytes(facts)
    assert answers + run(keeper, range(9, 12)) == expected[0]
    assert output(keeper) == expected[1]


def test_an_arena_of_an_older_batch_catches_up(keeper: ShardTask, expected: tuple, tmp_path: Path) -> None:
    """The shard ran on this host, then on another, and comes back."""
    answers = run(keeper, range(5))
    elsewhere = replace(keeper, settings=replace(keeper.settings, arenas=tmp_path / "elsewhere"))
    answers += run(elsewhere, range(5, 10))
    assert answers + run(keeper, range(10, 12)) == expected[0]
    assert output(keeper) == expected[1]


def test_a_step_that_fails_halfway_leaves_nothing_behind(
    keeper: ShardTask, expected: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(counting.FAULTS, str(tmp_path))
    answers = []
    for batch in range(12):
        (tmp_path / "fail").touch()
        with pytest.raises(RuntimeError, match="a fault of the test"):
            keeper.answer(batch, packets(batch))
        answers += run(keeper, range(batch, batch + 1))
    assert answers == expected[0]
    assert output(keeper) == expected[1]


def test_recent_batches_can_be_answered_again_after_going_on(keeper: ShardTask, expected: tuple) -> None:
    """A zombie of an earlier batch gets what was answered then, and does not turn the state back."""
    run(keeper, range(12))
    version = meta_path(keeper).read_text()
    assert run(keeper, range(9, 12)) == expected[0][9:]
    assert meta_path(keeper).read_text() == version


def test_old_history_is_removed_but_not_what_is_needed(keeper: ShardTask) -> None:
    run(keeper, range(40))
    folder = Path(keeper.settings.checkpoint.place) / "shards/1/0"
    assert len(list((folder / "answers").iterdir())) <= keeper.settings.snapshot_every + keeper.settings.retain
    assert len(list((folder / "log").iterdir())) <= 2 * (keeper.settings.snapshot_every + keeper.settings.retain)
    shutil.rmtree(keeper.settings.arenas)
    run(keeper, range(39, 41))
    assert changes(keeper).num_rows > 0


def test_a_lost_history_is_an_error_that_says_so(keeper: ShardTask) -> None:
    run(keeper, range(3))
    shutil.rmtree(keeper.settings.arenas)
    shutil.rmtree(Path(keeper.settings.checkpoint.place) / "shards/1/0/log")
    with pytest.raises(SashError, match="has no record of batch 0 for shard 0 of level 1"):
        keeper.answer(3, packets(3))


def answer_into(keeper: ShardTask, queue: multiprocessing.Queue) -> None:
    queue.put([(packet.cargo, packet.body) for packet in keeper.answer(3, packets(3))])


def test_two_tasks_at_once_give_one_answer(keeper: ShardTask, expected: tuple) -> None:
    run(keeper, range(3))
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue = context.Queue()
    tasks = [context.Process(target=answer_into, args=(keeper, queue)) for _ in range(4)]
    for task in tasks:
        task.start()
    answers = [queue.get(timeout=60) for _ in tasks]
    for task in tasks:
        task.join()
    assert all(answer == [(packet.cargo, packet.body) for packet in expected[0][3]] for answer in answers)
    assert run(keeper, range(4, 12)) == expected[0][4:]


def test_a_large_log_makes_a_snapshot_at_once(keeper: ShardTask) -> None:
    """When the state is smaller than the batch, the state is written instead of the batch."""
    zeros = np.zeros(9000, np.int64)
    rows = pa.record_batch({"ts": pa.nulls(9000, pa.timestamp("us")), "key": zeros, "value": zeros})
    keeper.answer(0, [Packet(1, 0, Cargo.ROWS, "events", 0, 0, batch_body(rows))])
    folder = Path(keeper.settings.checkpoint.place) / "shards/1/0"
    assert [path.name for path in (folder / "snapshots").iterdir()] == ["00000000"]
    assert not (folder / "log").exists()
    shutil.rmtree(keeper.settings.arenas)
    keeper.answer(1, packets(1))
    assert changes(keeper).column("n").to_pylist()[0] == 9000


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def test_a_damaged_snapshot_is_passed_over(keeper: ShardTask, expected: tuple) -> None:
    """The one before it and the log make the same state."""
    answers = run(keeper, range(10))
    shutil.rmtree(keeper.settings.arenas)
    folder = Path(keeper.settings.checkpoint.place) / "shards/1/0/snapshots"
    damaged(max(folder.iterdir()))
    assert answers + run(keeper, range(10, 12)) == expected[0]
    assert output(keeper) == expected[1]


def test_a_flipped_bit_in_a_log_is_an_error_that_names_the_file(keeper: ShardTask) -> None:
    run(keeper, range(3))
    shutil.rmtree(keeper.settings.arenas)
    damaged(Path(keeper.settings.checkpoint.place) / "shards/1/0/log/00000001")
    with pytest.raises(SashError, match="shards/1/0/log/00000001 is damaged: its checksum does not fit"):
        keeper.answer(3, packets(3))


def test_a_damaged_answer_is_given_again(keeper: ShardTask, expected: tuple) -> None:
    run(keeper, range(7))
    damaged(Path(keeper.settings.checkpoint.place) / "shards/1/0/answers/00000006")
    assert run(keeper, range(6, 12)) == expected[0][6:]
    assert output(keeper) == expected[1]
