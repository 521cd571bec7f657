"""A batch is made from its offset alone, and offsets go on from one another."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import counting
import pytest

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job
from sash.runtime.packets import Cargo
from sash.schema import END
from sash.spark import planner as planning
from sash.spark.checkpoint import make_checkpoint
from sash.spark.offsets import Offset, offset_of, shares
from sash.spark.planner import Planner
from sash.spark.sealed import SealedFolder
from sash.spark.settings import Settings
from sash.spark.share_packets import packets_of


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "in").mkdir()
    return Settings(str(tmp_path), SealedFolder.of(tmp_path / "cp"), Folder.of(tmp_path / "out"), tmp_path / "arenas")


def job(*streams: StreamSpec) -> Job:
    return replace(counting.job(counting.stream("in")), streams=streams or (counting.stream("in"),))


def named(name: str, **facts: object) -> StreamSpec:
    spec = counting.stream(f"{name}.csv")
    return replace(spec, name=name, **facts)  # type: ignore[arg-type]


def offsets(planner: Planner, start: Offset | None = None) -> list[Offset]:
    """All offsets to the end, each through JSON, as Spark keeps them."""
    found, offset = [], start or Offset()
    while True:
        following = Offset.from_json(json.loads(json.dumps(planner.next(offset).to_json())))
        if following == offset:
            return found
        found.append(offset := following)


def bounded(job: Job, settings: Settings) -> Planner:
    planner = Planner(job, settings)
    planner.look_once()
    return planner


def rows_of(offset: Offset) -> dict[str, int]:
    rows: dict[str, int] = {}
    for split in offset.splits:
        rows[split.stream] = rows.get(split.stream, 0) + split.rows
    return rows


def test_rows_are_limited_and_the_end_comes_last(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 10)
    found = offsets(bounded(job(), replace(settings, batch_rows=4)))
    assert [rows_of(offset) for offset in found] == [{"events": 4}, {"events": 4}, {"events": 2}, {}]
    assert [offset.is_end for offset in found] == [False, False, False, True]
    assert [offset.batch for offset in found] == [1, 2, 3, 4]


def test_without_flush_there_is_no_end(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 10)
    found = offsets(bounded(job(), replace(settings, flush=False)))
    assert [offset.is_end for offset in found] == [False]


def test_a_restart_plans_the_same(settings: Settings, tmp_path: Path) -> None:
    for number in range(3):
        counting.write_events(tmp_path / f"in/{number}.csv", 10, start=number * 100)
    found = offsets(bounded(job(), replace(settings, batch_rows=7)))
    for place, offset in enumerate(found):
        assert offsets(bounded(job(), replace(settings, batch_rows=7)), offset) == found[place + 1 :]


def test_files_keep_the_order_of_first_sight(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/b.csv", 1)
    first = offsets(bounded(job(), replace(settings, flush=False)))[-1]
    counting.write_events(tmp_path / "in/a.csv", 2)
    os.utime(tmp_path / "in/a.csv", (1, 1))  # older than the file that was read, yet seen later
    later = offsets(bounded(job(), replace(settings, flush=False)), first)
    assert [rows_of(offset) for offset in later] == [{"events": 2}]


def test_a_changed_file_is_an_error(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 1)
    bounded(job(), settings)
    counting.write_events(tmp_path / "in/a.csv", 2)
    with pytest.raises(SashError, match="has changed since it was first read"):
        bounded(job(), settings)


def test_tables_come_whole_and_first(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "table.csv", 50)
    counting.write_events(tmp_path / "stream.csv", 5)
    streams = named("stream"), named("table", is_table=True)
    found = offsets(bounded(job(*streams), replace(settings, batch_rows=3)))
    assert [rows_of(offset) for offset in found] == [{"table": 50}, {"stream": 3}, {"stream": 2}, {}]


def test_streams_come_to_their_ends_together(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "LEAST_SHARE", 100)
    counting.write_events(tmp_path / "long.csv", 90_000)
    counting.write_events(tmp_path / "short.csv", 9_000)
    found = offsets(bounded(job(named("long"), named("short")), replace(settings, batch_bytes=200_000)))[:-1]
    assert len(found) >= 5
    half = [sum(rows_of(offset).get(name, 0) for offset in found[: len(found) // 2]) for name in ("long", "short")]
    assert 0.3 < half[0] / 90_000 < 0.7
    assert 0.3 < half[1] / 9_000 < 0.9
    assert sum(rows_of(offset).get("long", 0) for offset in found) == 90_000
    assert sum(rows_of(offset).get("short", 0) for offset in found) == 9_000


def test_many_small_files_do_not_all_come_at_once(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MOST_FILES", 2)
    for number in range(5):
        counting.write_events(tmp_path / f"in/{number}.csv", 1)
    found = offsets(bounded(job(), settings))
    assert sum(len(offset.splits) for offset in found) == 5
    assert all(len(offset.splits) <= 2 for offset in found)


def test_small_splits_share_a_task(settings: Settings, tmp_path: Path) -> None:
    for number in range(40):
        counting.write_events(tmp_path / f"in/{number:02}.csv", 3)
    offset = offsets(bounded(job(), settings))[0]
    tasks = shares(job(), offset)
    assert [len(task.splits) for task in tasks] == [16, 16, 8]
    assert [placed.order for task in tasks for placed in task.splits] == list(range(40))


def test_arrival_times_never_come_twice(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning.time, "time_ns", lambda: 5_000_000)  # a clock that stands still
    for name in ("one", "two"):
        counting.write_events(tmp_path / f"{name}.csv", 10)
    streams = named("one", stamp=Stamp.INTERNAL), named("two", stamp=Stamp.INTERNAL)
    found = offsets(bounded(job(*streams), replace(settings, batch_rows=4)))
    assert [offset.arrival for offset in found[:3]] == [5000, 5004, 5008]
    tasks = [task for offset in found[:3] for task in shares(job(*streams), offset)]
    firsts = [placed.arrival for task in tasks for placed in task.splits]
    assert firsts == [5000, 5000, 5004, 5004, 5008, 5008]


def test_every_shard_of_every_level_hears_of_every_batch(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 10)
    two_levels = counting.job(counting.stream("in"), shards=3, levels=2)
    for offset in offsets(bounded(two_levels, settings)):
        packets = [packet for share in shares(two_levels, offset) for packet in packets_of(two_levels, share, Folder("/nowhere"))]
        controls = {(packet.level, packet.shard) for packet in packets if packet.cargo is Cargo.CONTROL}
        assert controls == {(level, shard) for level in (1, 2) for shard in range(3)}
    assert {"end": 1} in [packet.facts() for packet in packets]


def test_what_was_asked_is_told_once(settings: Settings, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(settings.checkpoint, job())
    counting.write_events(tmp_path / "in/a.csv", 1)
    planner = Planner(job(), replace(settings, checkpoint=checkpoint.folder))
    checkpoint.ask({"advance": 7})
    checkpoint.ask({"advance": 9})
    first = planner.next(Offset())
    assert [event["advance"] for event in first.events] == [7, 9]
    assert planner.next(first) == first
    checkpoint.ask({"end": 1})
    assert planner.next(first).is_end
    assert planner.next(planner.next(first)).batch == 2


def test_a_limit_is_told_when_it_changes(settings: Settings, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 4)
    limited = replace(settings, batch_rows=1, until=50)
    first = bounded(job(), limited).next(Offset())
    assert first.events == ({"until": 50},)
    second = bounded(job(), limited).next(first)
    assert second.events == ()
    assert bounded(job(), replace(limited, until=None)).next(second).events == ({"until": END},)


@pytest.mark.parametrize("text", ['{"places": {}, "seen": 1', '{"places": {}, "seen": 1}', '{"places": [], "seen": 1}', "\udcff"])
def test_an_offset_that_cannot_be_read_is_an_error_that_names_its_file(settings: Settings, text: str) -> None:
    path = Path(settings.checkpoint.place) / "spark/offsets/7"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"v1\n" + text.encode(errors="surrogateescape"))
    with pytest.raises(SashError, match="spark/offsets/7 is damaged"):
        offset_of(settings.checkpoint, 7)
