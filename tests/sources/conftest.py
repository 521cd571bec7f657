"""Fixtures of the source tests."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reading import CONNECTIONS, Files

from sash.schema import Schema
from sash.sources import ReadResult


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def csv(files: Files) -> Callable[..., ReadResult]:
    """Read one CSV text."""

    def read_text(text: str | bytes, columns: Schema = CONNECTIONS, **options: str) -> ReadResult:
        files.write("a.csv", text)
        return files.read(files.spec("a.csv", columns, options))

    return read_text
