"""Ratios that are kept, and what is told of those that have fallen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import ratios


def measured(share: float, views: int = 1) -> dict[str, object]:
    return {"workload": "join", "views": views, "batch": 1000, "reader": "nobody", "ratio": share}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ratios, "KEPT", tmp_path / "kept.json")
    (tmp_path / "kept.json").write_text(json.dumps({ratios.name(measured(0.0)): 0.6}))
    return tmp_path / "numbers.json"


@pytest.mark.parametrize(("share", "status"), [(0.61, 0), (0.31, 0), (0.29, 1)])
def test_only_what_has_fallen_far_fails(command: Path, share: float, status: int) -> None:
    command.write_text(json.dumps({"public": [measured(share), measured(0.01, views=10)]}))
    result = CliRunner().invoke(ratios.main, [str(command)])
    assert result.exit_code == status
    assert ("0.29 of the engine, 0.60 was kept" in result.output) == bool(status)


def test_new_ratios_are_kept_beside_others(command: Path) -> None:
    command.write_text(json.dumps({"public": [measured(0.25, views=10)]}))
    assert CliRunner().invoke(ratios.main, [str(command), "--keep"]).exit_code == 0
    assert sorted(json.loads(ratios.KEPT.read_text()).values()) == [0.25, 0.6]


def test_numbers_of_something_else_are_an_error(command: Path) -> None:
    command.write_text(json.dumps({"engine": []}))
    result = CliRunner().invoke(ratios.main, [str(command)])
    assert result.exit_code == 1 and "run python -m benchmarks public first" in result.output


def test_what_is_kept_can_be_read() -> None:
    assert all(0 < share < 5 for share in json.loads(ratios.KEPT.read_text()).values())  # above 1 where few of many views have work
