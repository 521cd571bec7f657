"""The first command of an install says that kernels are compiled, and how far it is; later ones begin without a word."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sash.cli import first_time
from sash.cli.demo import FEW, _plays, play_view
from sash.cli.first_time import told_of_compiling
from sash.generate import TRAFFIC_VIEWS


def mark(path: str) -> None:
    """What is played: it tells that it runs, and would run for long."""
    Path(path).touch()
    time.sleep(600)


def told(
    monkeypatch: pytest.MonkeyPatch, is_kept: bool, kept: Callable[[], int], until: Callable[[], bool], *plays: first_time.Play,
) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(first_time, "EVERY", 0.01)
    monkeypatch.setattr(first_time, "kept_kernels", kept)
    monkeypatch.setattr(first_time, "is_any_kept", lambda: is_kept)
    with told_of_compiling(said.append, plays):
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end
            time.sleep(0.01)
    return said


def test_the_screen_says_so_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    numbers, began = iter([0, 3, 3, 9]), time.monotonic()
    played = tmp_path / "played"
    said = told(monkeypatch, False, lambda: next(numbers, 9), played.exists, (mark, (str(played),)))
    assert said[0].startswith("compiling kernels, which is done once")
    assert said[1:] == ["compiled so far: 3 kernels", "compiled so far: 9 kernels"]
    assert time.monotonic() - began < 120  # nobody waits for what is played


def test_where_kernels_are_there_nothing_is_said_or_played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert told(monkeypatch, True, lambda: 1, lambda: True, (mark, (str(tmp_path / "played"),))) == []
    assert not (tmp_path / "played").exists()


def test_the_queries_of_the_demo_are_played_each_by_itself() -> None:
    plays = _plays(7)
    views = [values[0] for play, values in plays if play is play_view]
    assert [view.strip() for view in views] == [view.strip() for view in TRAFFIC_VIEWS.split(";") if view.strip()] and len(views) == 3
    assert FEW >= 10_000
    play_view(str(views[0]), 7)
