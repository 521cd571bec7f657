"""Whatever dies, stalls, runs twice or is lost: the changelogs are those of an undisturbed run, or there is a clear refusal.

SASH_SIMULATED_RUNS says how many seeds are played; `./run simulate` plays them for as long as one likes.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from lengths import count
from sash.folders import folder
from sash.plan.streams import StreamSpec
from sash.spark import opened_job, planner, shard_task
from simulation.faults import Fault
from simulation.found import FOUND
from simulation.simulate import SEEDS_A_WORKLOAD, Summary, play, undisturbed
from simulation.workload import FRAME_QUERIES, QUERIES, Do, Frame, Workload, make_workload

RUNS = int(os.environ.get("SASH_SIMULATED_RUNS", count(30, 60)))
BLOCK = 10  # seeds of one workload


@pytest.mark.parametrize("block", range(RUNS // BLOCK))
def test_simulated_runs(block: int) -> None:
    summary = Summary()
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        summary.add(seed, *play(seed))
    assert not summary.wrong, "\n".join(f"seed={seed}: {wrong}" for seed, wrong in summary.wrong.items())
    assert summary.with_faults > BLOCK // 2 and summary.exact > BLOCK // 2
    assert len(summary.faults) > len(Fault) // 4


@pytest.mark.parametrize("seed", FOUND, ids=lambda seed: f"seed={seed}")
def test_found(seed: int) -> None:
    _, wrong = play(seed)
    assert wrong is None, f"seed={seed}: {wrong}"


def test_a_seed_is_played_the_same_way_every_time() -> None:
    first, second = (play(3) for _ in range(2))
    assert first[0] is not None and second[0] is not None
    assert first[0].log == second[0].log and first[0].operations == second[0].operations
    assert first[0].faults == second[0].faults and first[0].changes == second[0].changes


def test_workloads_are_of_all_kinds() -> None:
    """And what they give is worth a comparison."""
    works = [make_workload(number) for number in range(200)]
    actions = [action for work in works for action in work.actions]
    assert {action.do for action in actions} == set(Do)
    said = "\n".join([action.text for action in actions] + [work.sql for work in works])
    for word in ("CREATE OR REPLACE", "DROP VIEW", "INSERT", "UPDATE", "DELETE", "ADVANCE", *QUERIES, *FRAME_QUERIES):
        assert word in said, word
    assert {work.shards for work in works} == {1, 2, 3}
    assert {work.is_on_disk for work in works} == {True, False} and {work.frame for work in works} == {None, *Frame}
    calm = [undisturbed(number) for number in range(6)]
    assert sum(any(outcome.changes.values()) for outcome in calm) >= 5


def test_a_wrong_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper that answers a batch twice, as if it had forgotten the first time, is seen through."""
    from sash.spark.shard_task import ShardTask
    from sash.spark.store import History

    monkeypatch.setattr(History, "answer", lambda self, batch: None)
    monkeypatch.setattr(ShardTask, "_choose_base", lambda self, arena_file, version: None)
    assert any(play(seed)[1] for seed in range(40, 140))



def found(plant: Callable[[pytest.MonkeyPatch], None], kinds: tuple[Fault, ...], is_meant: Callable[[Workload], bool]) -> bool:
    """Whether a defect is seen through, by workloads of some kind that meet such faults."""
    numbers = (number for number in range(500, 700) if is_meant(make_workload(number)))
    seeds = (number * SEEDS_A_WORKLOAD + place for number in numbers for place in range(3))
    undisturbed.cache_clear()  # what they give without faults, the defect may change as well
    try:
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            return any(play(seed, kinds)[1] for seed in seeds)
    finally:
        undisturbed.cache_clear()


def test_a_second_driver_that_is_let_in_is_found() -> None:
    """Nobody looks for epochs, and whoever claims one gets it."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for module in (opened_job, planner, shard_task):
            patch.setattr(module, "check_epoch", lambda *told: None)
        patch.setattr(opened_job, "claim_epoch", lambda checkpoint, seen: seen + 1)

    assert found(plant, (Fault.RIVAL, Fault.OVERTAKEN), lambda work: not work.is_on_disk)


def test_a_name_that_is_not_brought_to_the_disk_is_found() -> None:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(folder, "_bring_to_disk", lambda path: None)

    assert found(plant, (Fault.POWER,), lambda work: work.is_on_disk)


def test_a_file_that_is_not_brought_to_the_disk_is_found() -> None:
    def plant(patch: pytest.MonkeyPatch) -> None:
        written = folder._written_beside
        patch.setattr(folder, "_written_beside", lambda path, name, parts, durable: written(path, name, parts, durable=False))

    assert found(plant, (Fault.POWER,), lambda work: work.is_on_disk)


def test_tasks_of_a_dataframe_that_are_judged_one_after_the_other_are_found() -> None:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(StreamSpec, "is_in_order", True)

    assert found(plant, (Fault.DIES_AFTER,), lambda work: work.frame is Frame.UNITS)
