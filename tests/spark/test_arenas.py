"""Arenas lie where tasks run, in a folder of the user's own, and do not stay for ever."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from sash.errors import SashError
from sash.spark import own_folder as own
from sash.spark.arenas import UNUSED, Meta, arenas_on_this_machine, held, remove_arenas
from sash.spark.own_folder import log_file, own_folder


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of all users."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    for name in ("SPARK_LOCAL_DIRS", "LOCAL_DIRS"):
        monkeypatch.delenv(name, raising=False)
    return path


def test_the_folder_is_the_users_and_nobody_elses(shared: Path) -> None:
    folder = own_folder()
    assert folder == shared / f"sash-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    assert stat.S_IMODE(own_folder().stat().st_mode) == 0o700


def test_one_users_arena_folder_does_not_lock_out_others(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_folder()
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert not own._is_own(shared / "sash-0" if os.getuid() == 0 else shared / f"sash-{os.getuid()}")
    (shared / "sash-4242").mkdir()  # by somebody who is not 4242
    with pytest.raises(SashError, match="set TMPDIR to a folder"):
        own_folder()  # whatever is made here is not 4242's


def test_a_link_that_somebody_left_is_not_followed(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (shared / f"sash-{os.geteuid()}").symlink_to(tmp_path / "target")
    folder = own_folder()
    assert folder == shared / f"sash-{os.geteuid()}-1"
    assert not list((tmp_path / "target").iterdir())


def test_a_task_uses_the_folder_that_spark_tells_it_of(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert arenas_on_this_machine(Path("a-1")).is_relative_to(shared)
    (tmp_path / "disk").mkdir()
    monkeypatch.setenv("LOCAL_DIRS", f"{tmp_path}/disk,{tmp_path}/other")
    assert arenas_on_this_machine(Path("a-1")).is_relative_to(tmp_path / "disk")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/gone")
    assert arenas_on_this_machine(Path("a-1")).is_relative_to(shared)
    assert arenas_on_this_machine(tmp_path / "here") == tmp_path / "here"


def test_arenas_of_earlier_drivers_are_removed_at_the_next_start() -> None:
    names = [Path(name) for name in ("a-1-x", "a-2-y", "b-1-z", "c-1-w", "a-0-look")]
    for name in names:
        with held(name, 1, 0) as arena:
            arena.commit(Meta(3))
    folders = {name: arenas_on_this_machine(name) for name in names}
    for path in (folders[Path("c-1-w")], *folders[Path("c-1-w")].iterdir()):
        os.utime(path, (0, path.stat().st_mtime - UNUSED - 10))
    with held(Path("a-3-v"), 1, 0):
        pass
    assert [str(name) for name in names if folders[name].exists()] == ["b-1-z", "a-0-look"]


def test_an_arena_at_work_is_not_removed() -> None:
    with held(Path("a-1-x"), 1, 0):
        remove_arenas(arenas_on_this_machine(Path("a-1-x")))
        assert arenas_on_this_machine(Path("a-1-x")).exists()
    remove_arenas(arenas_on_this_machine(Path("a-1-x")))
    assert not arenas_on_this_machine(Path("a-1-x")).exists()


def test_an_error_of_who_holds_an_arena_is_told_as_it_is() -> None:
    """One about a missing file was taken for a lock that somebody had removed: generator didn't stop after throw()."""
    with pytest.raises(FileNotFoundError), held(Path("a-1-x"), 1, 0):
        raise FileNotFoundError("a file of the task")


def test_an_arena_that_is_removed_while_it_is_held_is_not_whole() -> None:
    with held(Path("a-1-x"), 1, 0) as arena:
        arena.open().close()
        arena.path.unlink()
        arena.commit(Meta(7))
        assert not arena.is_whole


def test_the_facts_of_an_arena_are_as_written_or_unknown() -> None:
    name = Path("a-1-x")
    with held(name, 1, 0) as arena:
        arena.path.write_bytes(b"\0" * 8192)
        arena.commit(Meta(7, "{}", snapshot=4))
    path = arenas_on_this_machine(name) / "1-0.json"
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with held(name, 1, 0) as arena:
            assert not arena.is_whole
    path.write_bytes(whole)
    with held(name, 1, 0) as arena:
        assert arena.is_whole
        assert arena.meta.version == 7
        os.truncate(arena.path, 8191)
        assert not arena.is_whole


def test_logs_of_processes_that_are_gone_are_removed(shared: Path) -> None:
    folder = own_folder()
    old, mine = folder / "spark-999999999.log", folder / f"spark-{os.getpid()}.log"
    for path in (old, mine):
        path.touch()
        os.utime(path, (0, 0))
    assert log_file() == mine
    assert not old.exists()
    assert mine.exists()
