"""A file in a folder is there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sash.folders.folder import Folder, remove_partial_files


@pytest.fixture(params=["", "file://"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return Folder.of(f"{request.param}{tmp_path}/deep").child("er")


def test_a_folder_need_not_exist(folder: Folder) -> None:
    assert folder.names() == []
    assert folder.read("a") is None
    assert not folder.has("a")
    folder.delete("a")


def test_what_is_put_is_there_and_replaced_as_a_whole(folder: Folder) -> None:
    folder.put("b", [b"one ", memoryview(b"two")])
    folder.put("a", [])
    assert folder.names() == ["a", "b"]
    assert bytes(folder.read("b") or b"") == b"one two"
    folder.put("b", [b"3"])
    assert bytes(folder.read("b") or b"") == b"3"
    folder.delete("b")
    assert folder.names() == ["a"]


def test_a_write_that_fails_leaves_what_was_there(folder: Folder) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("torn")

    folder.put("a", [b"old"])
    with pytest.raises(RuntimeError, match="torn"):
        folder.put("a", broken())
    assert bytes(folder.read("a") or b"") == b"old"
    assert folder.names() == ["a"]
    assert len(list(Path(folder.place.removeprefix("file://")).iterdir())) == 1


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    folder = Folder.of(tmp_path).child("deep")
    folder.put("a", [b"whole"])
    old, new, other = (tmp_path / "deep" / name for name in (f".a.{'0' * 32}", f".b.{'1' * 32}", ".run.lock"))
    for path in (old, new, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (0, 0))
    remove_partial_files(Folder.of(tmp_path))
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == sorted([new.name, other.name, "a"])
