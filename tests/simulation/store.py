"""What a run needs of the place where its files are, whichever it is (`bucket.py`, `disk.py`)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

import pytest

Operation = Callable[[str, str, bytes], bytes | None]  # kind, path, contents: what is to be stored, None for nothing
Done = Callable[[str, str], None]


class Store(Protocol):
    """Calls an `Operation` before everything that a process does with it, and a `Done` after it."""

    base: str  # where the run's files are, as Sash is told

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        """Sash meets this store from now on."""

    def place(self, path: str, data: bytes) -> None:
        """The file is there, by nobody's doing; paths are those that operations tell."""

    def files(self, folder: str) -> dict[str, bytes]:
        """What is in a folder of the run, by its names, as a bystander sees it."""

    def rot(self, path: str, changed: Callable[[bytes], bytes]) -> None:
        """The file is another one from now on."""

    def garble(self, path: str, changed: Callable[[bytes], bytes]) -> None:
        """The operation at hand sees another file."""

    def hide(self, path: str, chance: random.Random) -> None:
        """The operation at hand does not see a file there, or below."""

    def go_back(self, chance: random.Random) -> None:
        """The operation at hand sees what was there before the last changes."""

    def lose_power(self, chance: random.Random) -> None:
        """What was not brought to a disk may be gone."""


def is_ours(path: str) -> bool:
    """How Spark writes its own log, and others their files, is not ours to test."""
    return not any(part in f"{path}/" for part in ("/spark/", "/in/"))
