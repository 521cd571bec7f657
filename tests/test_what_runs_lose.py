"""`sash run` ends with the counts of late, unreadable and failed rows, and says why; if nothing could be read, with status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sash.cli.main import main

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true');
CREATE MATERIALIZED VIEW n AS SELECT k, 10 / (v - 1) AS q FROM s;
"""
GOOD = "ts,k,v\n2024-01-01 00:00:05,a,3\n2024-01-01 00:00:04,late,3\n2024-01-01 00:00:06,c,1\n2024-01-01 00:00:06,c,1\n"
BAD = "ts,k,v\n" + "".join(f"2024-01-01 00:00:05,a,x{n}\n" for n in range(4)) + "never,b,1\nonly one\n" + "2024-01-01,b,1,1\n"


def run(folder: Path, text: str, *words: str, engine: str = "embedded") -> Result:
    (folder / "s.csv").write_text(text)
    (folder / "job.sql").write_text(JOB)
    return CliRunner().invoke(main, ["run", str(folder / "job.sql"), "--engine", engine, *words])


def test_a_run_always_ends_with_the_counts_of_what_was_lost(tmp_path: Path) -> None:
    result = run(tmp_path, "ts,k,v\n2024-01-01 00:00:05,a,3\n")
    assert result.exit_code == 0 and "0 late rows, 0 unreadable rows, 0 failed rows" in result.output
    result = run(tmp_path, GOOD + BAD.partition("\n")[2])
    assert result.exit_code == 0
    assert "1 late rows, 7 unreadable rows, 2 failed rows" in result.output
    assert '4 × stream "s": column "v": "x0" is not a BIGINT (line 6 of' in result.output
    assert "2 × division by zero" in result.output


def test_a_job_in_which_every_row_is_unreadable_says_why_and_ends_with_2(tmp_path: Path) -> None:
    result = run(tmp_path, BAD)
    assert result.exit_code == 2
    assert "0 late rows, 7 unreadable rows, 0 failed rows" in result.output
    assert '4 × stream "s": column "v": "x0" is not a BIGINT (line 2 of' in result.output
    assert '2 × stream "s": 1 values where 3 are expected (line 7 of' in result.output
    assert '1 × stream "s": column "ts": "never" is not a TIMESTAMP (line 6 of' in result.output
    assert "sash: not a single row could be read; " in result.output and "--allow-unreadable" in result.output


def test_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    result = run(tmp_path, BAD, "--allow-unreadable", "--output", str(tmp_path / "out"))
    assert result.exit_code == 0 and "7 unreadable rows" in result.output
    assert (tmp_path / "out/n.parquet").exists() and (tmp_path / "out/s.dead.parquet").exists()


def test_reasons_that_are_many_are_counted_and_the_first_are_told(tmp_path: Path) -> None:
    lines = ["2024-01-01,a,x", "never,a,1", "one", "2024-01-01 00:00:05,\"open,1", "\ufffd,\x00,1"]
    result = run(tmp_path, "ts,k,v\n" + "\n".join(lines))
    assert result.exit_code == 2 and result.output.count(" × ") == 3
    assert "and for 1 other reasons" in result.output


def test_what_stands_in_files_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    """Marks of the library that writes to the terminal ended the run with a stack trace, and escapes reached the terminal."""
    result = run(tmp_path, "ts,k,v\n2024-01-01 00:00:05,a,3\n[/x],b,1\n2024-01-01 00:00:06,b,[red]:smile:\x1b[31m\n")
    assert result.exit_code == 0, result.output
    assert '"[/x]" is not a TIMESTAMP' in result.output and '"[red]:smile:\\x1b[31m" is not a BIGINT' in result.output


@pytest.mark.filterwarnings("default::sash.errors.LateRowsWarning")
def test_a_warning_is_a_sentence_without_the_line_of_python_that_gave_it(tmp_path: Path) -> None:
    result = run(tmp_path, GOOD)
    assert 'sash: warning: 1 row of stream "s" came too late' in result.output and ".py" not in result.output


def test_an_empty_file_is_no_mistake(tmp_path: Path) -> None:
    for text in ("", "ts,k,v\n"):
        assert run(tmp_path, text).exit_code == 0


@pytest.mark.spark
def test_the_same_on_spark(tmp_path: Path) -> None:
    result = run(tmp_path, BAD, engine="spark")
    assert result.exit_code == 2
    assert "0 late rows, 7 unreadable rows, 0 failed rows" in result.output
    assert '4 × stream "s": column "v": "x0" is not a BIGINT (line 2 of' in result.output
    result = run(tmp_path, GOOD + BAD.partition("\n")[2], "--output", str(tmp_path / "out"), engine="spark")
    assert result.exit_code == 0 and "1 late rows, 7 unreadable rows, 2 failed rows" in result.output
