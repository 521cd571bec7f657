"""The pipeline from csv files to live answers and files of changes, on a real Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import counting
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from sash.errors import SashError
from sash.runtime.progress import Progress
from sash.spark.host import SparkHost

MakeHost = Callable[..., SparkHost]


@pytest.fixture
def make_host(spark: SparkSession, tmp_path: Path) -> MakeHost:
    def make(cls: type[SparkHost] = SparkHost, shards: int = 2, levels: int = 1, **options: object) -> SparkHost:
        job = counting.job(counting.stream("in"), shards, levels)
        folders = {"checkpoint": tmp_path / "cp", "output": tmp_path / "out"}
        return cls(spark, job, tmp_path, **folders | options, make_engine=counting.Counting)  # type: ignore[arg-type]

    (tmp_path / "in").mkdir()
    return make


def counts(table: pa.Table) -> list[int]:
    found = np.zeros(counting.KEYS, np.int64)
    np.add.at(found, table.column("key").to_numpy(), table.column("n").to_numpy())
    return found.tolist()


def added_up(output: Path) -> list[int]:
    """The counts that the changes on disk add up to."""
    log = pq.read_table(output / "counts.changes.parquet")
    found = np.zeros(counting.KEYS, np.int64)
    np.add.at(found, log.column("key").to_numpy(), log.column("n").to_numpy() * log.column("_op").to_numpy())
    return found.tolist()


@pytest.mark.parametrize("levels", [1, 2])
def test_a_bounded_run(make_host: MakeHost, tmp_path: Path, levels: int) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 1000)
    expected += counting.write_events(tmp_path / "in/b.csv", 500, seed=1, start=2000)
    told: list[Progress] = []
    host = make_host(levels=levels, batch_rows=400, on_progress=told.append)
    host.run_to_end()
    assert counts(host.view("counts")) == expected.tolist()
    assert added_up(tmp_path / "out") == expected.tolist()
    host.write_final({view.name for view in host.job.views}, lambda _, rows: rows)
    assert counts(pq.read_table(tmp_path / "out/counts.parquet")) == expected.tolist()
    assert [progress.rows for progress in told] == [400, 800, 1200, 1500, 1500]
    assert [progress.batch for progress in told] == [0, 1, 2, 3, 4]
    assert told[-1].is_end
    assert told[-1].event_time == 2499 * 1_000_000
    assert told[-1].state_bytes > 0
    assert host.is_finished


def test_a_finished_checkpoint_stays_as_it_is(make_host: MakeHost, tmp_path: Path) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 100)
    make_host().run_to_end()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")}
    counting.write_events(tmp_path / "in/b.csv", 100)
    again = make_host()
    assert again.is_finished
    again.run_to_end()
    assert counts(again.view("counts")) == expected.tolist()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")} == before


def test_without_flush_a_later_run_goes_on_with_more_files(make_host: MakeHost, tmp_path: Path) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 100)
    make_host(flush=False).run_to_end()
    expected += counting.write_events(tmp_path / "in/b.csv", 100, seed=1, start=1000)
    host = make_host(flush=False)
    assert not host.is_finished
    host.run_to_end()
    assert counts(host.view("counts")) == expected.tolist()
    make_host().run_to_end()
    assert added_up(tmp_path / "out") == expected.tolist()


def test_a_changed_file_is_an_error(make_host: MakeHost, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 100)
    make_host(flush=False).run_to_end()
    counting.write_events(tmp_path / "in/a.csv", 200)
    with pytest.raises(SashError, match=r"^the file .*a\.csv of stream \"events\" has changed since it was first read"):
        make_host().run_to_end()


class EvaluatesTwice(SparkHost):
    """As a user's foreachBatch may."""

    def _take(self, packets: DataFrame, batch: int) -> None:
        packets.toArrow()
        super()._take(packets, batch)


def test_a_batch_evaluated_twice_counts_once(make_host: MakeHost, tmp_path: Path) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 300)
    host = make_host(EvaluatesTwice, batch_rows=100)
    host.run_to_end()
    assert counts(host.view("counts")) == expected.tolist()
    assert added_up(tmp_path / "out") == expected.tolist()


def test_a_task_that_fails_is_tried_again(make_host: MakeHost, tmp_path: Path, faults: Path) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 300)
    (faults / "fail").touch()
    host = make_host(batch_rows=100)
    host.run_to_end()
    assert not (faults / "fail").exists()
    assert added_up(tmp_path / "out") == expected.tolist()


def test_a_worker_that_is_killed_is_replaced(make_host: MakeHost, tmp_path: Path, faults: Path) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 300)
    (faults / "die").touch()
    host = make_host(batch_rows=100)
    host.run_to_end()
    assert not (faults / "die").exists()
    assert counts(host.view("counts")) == expected.tolist()
    assert added_up(tmp_path / "out") == expected.tolist()


def test_an_error_of_a_task_is_one_clear_message(make_host: MakeHost, tmp_path: Path, faults: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 10)
    (faults / "refuse").touch()
    with pytest.raises(SashError, match=r"^the test wants none of it; ask another one$"):
        make_host().run_to_end()
    (faults / "refuse").unlink()
    host = make_host()
    host.run_to_end()
    assert host.is_finished


def test_late_and_dead_rows_are_kept(make_host: MakeHost, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text("ts,key,value\n5,1,1\n3,2,2\n,3,3\n6,x,4\n7,5,5\n")
    host = make_host()
    host.run_to_end()
    assert pq.read_table(tmp_path / "out/events.late.parquet").column("key").to_pylist() == [2]
    dead = pq.read_table(tmp_path / "out/events.dead.parquet").column("reason").to_pylist()
    assert len(dead) == 2
    assert any('"x" is not a BIGINT' in reason for reason in dead)
    assert (host.progress.rows, host.progress.late, host.progress.dead) == (2, 1, 2)


def test_running_until_stopped(make_host: MakeHost, tmp_path: Path) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 100)
    host = make_host()
    host.start()
    host.drain()
    assert counts(host.view("counts")) == expected.tolist()
    expected += counting.write_events(tmp_path / "new.csv", 100, seed=1, start=1000)
    (tmp_path / "new.csv").rename(tmp_path / "in/b.csv")
    host.advance(5_000_000)
    for _ in range(100):
        host.drain()
        if counts(host.view("counts")) == expected.tolist():
            break
    assert counts(host.view("counts")) == expected.tolist()
    host.stop()


def test_changes_are_a_streaming_dataframe(make_host: MakeHost, tmp_path: Path, spark: SparkSession) -> None:
    expected = counting.write_events(tmp_path / "in/a.csv", 200)
    host = make_host(batch_rows=100)
    host.run_to_end()
    query = host.changes("counts").writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
    query.awaitTermination()
    rows = spark.sql("SELECT key, SUM(_op * n) AS n FROM seen GROUP BY key").toArrow()
    assert counts(rows) == expected.tolist()


def test_an_unknown_view_lists_the_views(make_host: MakeHost, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 1)
    with pytest.raises(SashError, match='unknown view "count"; views are: counts'):
        make_host().view("count")


def test_no_files_at_all(make_host: MakeHost) -> None:
    host = make_host()
    host.run_to_end()
    assert host.view("counts").num_rows == 0


def test_an_output_folder_is_begun_anew_with_a_new_checkpoint(make_host: MakeHost, tmp_path: Path) -> None:
    counting.write_events(tmp_path / "in/a.csv", 300)
    make_host(batch_rows=50, flush=False).run_to_end()
    expected = counting.write_events(tmp_path / "in/a.csv", 10)
    make_host(checkpoint=None).run_to_end()
    assert added_up(tmp_path / "out") == expected.tolist()
