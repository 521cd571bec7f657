"""The list of cases that do not pass names cases that there are."""

from __future__ import annotations

import pytest

from cases.known import KNOWN
from cases.suite import FOLDER, load

FILES = ("cases.jsonl", "scripts.jsonl", "deltas.jsonl", "windows.jsonl", "nexmark/queries.jsonl")


def test_every_known_failure_is_a_case() -> None:
    if not FOLDER.exists():
        pytest.skip("no cases beside the project")
    assert KNOWN.keys() <= {case["id"] for file in FILES for case in load(file)}
