"""Outputs that cannot be written, as their disk is full or something else has their name: one clear message, and status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import sash
from sash.cli.main import main
from sash.errors import SashError

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv');
CREATE MATERIALIZED VIEW v AS SELECT * FROM s;
"""
FULL = Path("/dev/full")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text("2024-01-01,a\n2024-01-02,b\nnever,c\n2024-01-01,late\n")
    (tmp_path / "job.sql").write_text(JOB)
    (tmp_path / "out").mkdir()
    return tmp_path


def message(folder: Path, *words: str) -> str:
    result = CliRunner().invoke(main, ["run", str(folder / "job.sql"), "--engine", "embedded", *words])
    assert result.exit_code == 2, result.output
    return result.output


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("file", ["v.changes.parquet", "v.parquet", "s.dead.parquet", "s.late.parquet"])
def test_a_full_disk_ends_a_run_with_a_message(folder: Path, file: str) -> None:
    (folder / "out" / file).symlink_to(FULL)
    assert f"cannot write {folder}/out/{file}: " in message(folder, "--output", str(folder / "out"))


@pytest.mark.parametrize("file", ["v.changes.parquet", "v.parquet"])
def test_a_folder_in_the_place_of_an_output_ends_a_run_with_a_message(folder: Path, file: str) -> None:
    (folder / "out" / file).mkdir()
    assert f"cannot write {folder}/out/{file}: " in message(folder, "--output", str(folder / "out"))


def test_metrics_that_cannot_be_written_end_a_run_with_a_message(folder: Path) -> None:
    place = folder / "nowhere/metrics.json"
    assert f"cannot write {place}: No such file or directory" in message(folder, "--metrics", str(place))


def test_answers_and_made_up_streams_that_cannot_be_written_are_errors_with_a_name(folder: Path) -> None:
    with sash.connect(base=folder) as db:
        db.execute(JOB)
        db.run()
        with pytest.raises(SashError, match=r"cannot write .*/s\.csv: File exists; see that it can be written to"):
            db.write_answers(folder / "s.csv")
    result = CliRunner().invoke(main, ["generate", "pairs", "--rows", "3", "--out", str(folder / "s.csv/under")])
    assert result.exit_code == 2 and "cannot write" in result.output
