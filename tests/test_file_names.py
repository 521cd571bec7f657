"""Names of views and streams are not paths: whatever they are, files lie in the output folder, one for each name."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.cli.main import main
from sash.errors import SashError
from sash.file_names import LONGEST, file_name
from sash.sql.syntax.text_positions import quoted

STRANGE = ("../../x", "/tmp/absolute", "x", "x.changes", "x.late", "..", ".hidden", "_hidden", "~", "a b\n%2F", "größe", "n" * 300, "é" * 300, "*{a,b}?[c]")
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def test_ordinary_names_stay_as_they_are() -> None:
    assert [file_name(name) for name in ("talkers", "Top_10", "by-host")] == ["talkers", "Top_10", "by-host"]


@given(st.lists(NAMES | st.sampled_from(STRANGE), unique_by=str.lower))
def test_names_have_files_of_their_own(names: list[str]) -> None:
    files = [file_name(name) for name in names]
    assert len({file.lower() for file in files}) == len(names)
    for file in files:
        assert len(file) <= LONGEST and not set(file) & set("./\\\0 %*?[]{}:") and file[0] not in "._"


def test_long_names_that_begin_alike_differ() -> None:
    assert len({file_name("n" * size + end) for size in (200, 201, 300) for end in ("", "a", "b")}) == 9


@pytest.mark.parametrize("name", ["a\0", "\0", "\ud800"])
@pytest.mark.parametrize("create", ["CREATE STREAM {} (ts TIMESTAMP) TIMESTAMP BY ts", "CREATE MATERIALIZED VIEW {} AS SELECT 1 AS one"])
def test_names_without_a_spelling_are_refused(create: str, name: str) -> None:
    with pytest.raises(SashError, match=r"NUL|half of a character"):
        sash.connect().execute(create.format(quoted(name)))


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(SashError):
        sash.connect().execute("CREATE STREAM `` (ts TIMESTAMP) TIMESTAMP BY ts")


def test_a_run_writes_nothing_outside_its_output(tmp_path: Path) -> None:
    """Names were paths: ../../x went up, x.changes took the file of the changes of x, NUL and 300 characters gave raw errors."""
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/s.csv").write_text("ts\n1\n2\nnone\n")
    stream = "CREATE STREAM `../s` (ts TIMESTAMP) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true');\n"
    views = [f"CREATE MATERIALIZED VIEW {quoted(name)} AS SELECT COUNT(*) AS n, {n} AS which FROM `../s`" for n, name in enumerate(STRANGE)]
    (tmp_path / "deep/er/job.sql").write_text(stream + ";\n".join(views))
    out = tmp_path / "deep/er/out"
    result = CliRunner().invoke(main, ["run", str(tmp_path / "deep/er/job.sql"), "--engine", "embedded", "--output", str(out)])
    assert result.exit_code == 0, result.output
    wanted = {f"{file_name(name)}{end}" for name in STRANGE for end in (".parquet", ".changes.parquet")} | {"~2E~2E~2Fs.dead.parquet"}
    assert {path.name for path in out.iterdir()} == wanted
    found = {path for path in tmp_path.rglob("*") if path.is_file() and path.parent != out}
    assert {path.name for path in found} == {"s.csv", "job.sql"}
    for number, name in enumerate(STRANGE):
        assert pq.read_table(out / f"{file_name(name)}.parquet").to_pylist() == [{"n": 2, "which": number}]
        assert set(pq.read_table(out / f"{file_name(name)}.changes.parquet")["which"].to_pylist()) == {number}
