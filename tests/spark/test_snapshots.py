"""Snapshots of large arenas: only what has changed is written, and what is put together again is the arena as it was."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from sash.errors import SashError
from sash.spark.sealed import DamagedFile, SealedFolder
from sash.spark.snapshots import MOST_FILES, PAGE, SMALL, _written
from sash.spark.store import History

PAGES = SMALL // PAGE + 100


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(SealedFolder.of(tmp_path / "cp").child("shards", "1", "0"))


class Changing:
    """An arena of which some pages change between two snapshots."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.path = folder / "0.arena"
        self._chance = random.Random(seed)
        self._random = np.random.default_rng(seed)
        self.pages = self._random.integers(0, 256, (PAGES, PAGE), np.uint8)
        self.kept: dict[int, bytes] = {}

    def write(self, number: int) -> None:
        data = self.pages.tobytes()[: -self._chance.choice([0, 64, PAGE // 2])or None]
        self.path.write_bytes(data)
        self.kept[number] = data

    def change(self) -> None:
        for place in self._chance.sample(range(len(self.pages)), self._chance.choice([0, 1, 20, 200])):
            self.pages[place] = self._chance.choice([0, 1]) and self._random.integers(0, 256, PAGE, np.uint8)
        grown = self._chance.choice([0, 0, 30, -20])
        self.pages = self.pages[:grown] if grown < 0 else np.concatenate([self.pages, np.zeros((grown, PAGE), np.uint8)])


def check(history: History, number: int, changing: Changing, folder: Path) -> None:
    assert history.restore(number, history.snapshot(number), folder / "again") == f"contents {number}"
    assert (folder / "again").read_bytes() == changing.kept[number]


@pytest.mark.parametrize("seed", range(2))
def test_any_snapshot_that_is_kept_can_be_put_together(history: History, tmp_path: Path, seed: int) -> None:
    changing, before = Changing(tmp_path, seed), None
    for number in range(20):
        changing.write(number)
        history.put_snapshot(number, changing.path, f"contents {number}", before)
        if number % 5 == 4:
            history.forget(number - 2)
        if number % 5 in (2, 4):
            check(history, history.snapshots(number)[number % 5 // 2 - 1], changing, tmp_path)
        changing.change()
        before = number
    assert len(history.folder.child("pages").names()) <= 2 * MOST_FILES


def test_only_what_has_changed_is_written(history: History, tmp_path: Path) -> None:
    changing = Changing(tmp_path, 1)
    changing.write(0)
    history.put_snapshot(0, changing.path, "contents 0")
    changing.pages[[3, 4, 77]] = 7
    changing.write(1)
    history.put_snapshot(1, changing.path, "contents 1", 0)
    history.put_snapshot(2, changing.path, "contents 2", 1)
    sizes = sorted(history.folder.child("pages").sizes().values())
    assert len(sizes) == 2 and sizes[0] < 4 * PAGE and sizes[1] > SMALL
    assert max(size for name, size in history.folder.child("snapshots").sizes().items()) < SMALL // 100


@pytest.mark.parametrize("is_first", [True, False])
def test_a_damaged_file_of_pages_is_an_error_that_names_it(history: History, tmp_path: Path, is_first: bool) -> None:
    changing = Changing(tmp_path, 2)
    for number in range(3):
        changing.write(number)
        history.put_snapshot(number, changing.path, f"contents {number}", number - 1 if number else None)
        changing.pages[number * 10] += 1
    folder = Path(history.folder.place) / "pages"
    name = sorted(path.name for path in folder.iterdir())[0 if is_first else -1]
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 4
    (folder / name).write_bytes(data)
    with pytest.raises(SashError, match=f"pages/{name} is damaged: its checksum does not fit"):
        check(history, 2, changing, tmp_path)
    (folder / name).unlink()
    with pytest.raises(SashError, match=f"pages/{name} is missing"):
        check(history, 2, changing, tmp_path)
    if not is_first:
        check(history, 1, changing, tmp_path)


def test_a_file_that_lacks_pages_is_damaged(history: History, tmp_path: Path) -> None:
    """Were it sealed as it is."""
    changing = Changing(tmp_path, 2)
    changing.write(0)
    history.put_snapshot(0, changing.path, "contents 0")
    (name,) = history.folder.child("pages").names()
    history.folder.child("pages").put(name, _written(memoryview(changing.kept[0]), np.arange(9)))
    with pytest.raises(DamagedFile, match=f"{name} is damaged: it lacks {-(-len(changing.kept[0]) // PAGE) - 9} pages"):
        check(history, 0, changing, tmp_path)


def test_a_lost_file_of_pages_is_not_built_upon(history: History, tmp_path: Path) -> None:
    changing = Changing(tmp_path, 3)
    changing.write(0)
    history.put_snapshot(0, changing.path, "contents 0")
    shutil.rmtree(Path(history.folder.place) / "pages")
    changing.write(1)
    history.put_snapshot(1, changing.path, "contents 1", 0)
    check(history, 1, changing, tmp_path)
