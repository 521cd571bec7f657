"""The examples of the README do what it says."""

import re
from pathlib import Path

import pytest

from sash.testing import Oracle

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_job_is_good_sql() -> None:
    (job,) = blocks("sql")
    assert Oracle(job, {}).views == ["talkers"]


def test_the_session() -> None:
    pytest.importorskip("sash.database.embedded")
    values: dict[str, object] = {}
    for line in blocks("python")[0].splitlines():
        code, _, comment = line.partition("#")
        if not code.startswith("db.view"):
            exec(code, values)
            continue
        answer = eval(code, values)
        assert [" ".join(str(value) for value in row.values()) for row in answer] == [comment.strip()]
    assert f"{answer}\n" in blocks("text")


def test_the_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    example = blocks("python")[2]
    exec(example, {})
    said = [line.removeprefix("# ") for line in example.splitlines() if line.startswith("#")]
    assert capsys.readouterr().out.splitlines() == said
