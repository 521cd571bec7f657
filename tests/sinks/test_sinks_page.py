"""The page on sinks says what its example prints, and names every option and column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postgres_server import PostgresServer
from sash.database.sinks import SHOWN
from sash.sinks.options import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "sinks.md").read_text(encoding="utf-8")


def test_the_page_says_what_its_examples_print(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples, answers = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "text"))
    monkeypatch.setenv("BIDS_DSN", server.dsn)
    for example, said in zip(examples, answers, strict=True):
        exec(example, {})
        assert capsys.readouterr().out == said


def test_the_page_names_every_option() -> None:
    assert {f"`{name}`" for names in OPTIONS.values() for name in names} <= set(re.findall(r"`[\w.…]+`", PAGE))
    assert all(f"`{name}`" in PAGE for name in SHOWN.names[5:])
