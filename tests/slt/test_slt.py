"""Jobs as text: every file beside this one is a chapter on what queries mean, and holds whatever way it is run: as it is written, and in
another way, or in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from lengths import share
from sash.testing.slt import run_file

HERE = Path(__file__).parent
FILES = {str(path.relative_to(HERE)): path for path in sorted(HERE.rglob("*.slt"))}


@pytest.mark.parametrize("name", FILES)
def test_as_written(name: str) -> None:
    assert run_file(FILES[name]) > 0


@pytest.mark.parametrize("name", share(list(FILES), 0, 2))
def test_row_by_row(name: str) -> None:
    run_file(FILES[name], batch_rows=1)


@pytest.mark.parametrize("name", share(list(FILES), 1, 2))
def test_with_negative_rows(name: str) -> None:
    run_file(FILES[name], expiry="negative")


@pytest.mark.parametrize("name", FILES)
def test_says_what_it_teaches(name: str) -> None:
    assert FILES[name].read_text(encoding="utf-8").startswith("# ")
