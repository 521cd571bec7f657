"""A disk that is full, or a file that may not grow: one clear error, and never a dead process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sash
from sash.errors import SashError
from sash.stores import arena as arenas
from sash.stores.arena import Arena

ROOM = 4 << 20

FILL = """
import sys
from pathlib import Path
from sash.errors import SashError
from sash.stores.arena import Arena

arena = Arena.open(Path(sys.argv[1]) / "full.arena")
array = arena.array("a", (1000,))
array[:] = 7
try:
    for size in range(12, 30):
        array = arena.resize("a", 1 << size)
        array[1000:] = 1
except SashError as error:
    assert (array[:1000] == 7).all() and (array[1000:] == 1).all(), "what was there is gone"
    assert arena.array("small", (5,)).tolist() == [0] * 5, "a small array has no room any more"
    print(error)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "none", tmp_path], check=False, capture_output=True).returncode:
        pytest.skip("this machine mounts nothing")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_an_error_that_names_the_folder(small_disk: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FILL, str(small_disk)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
    assert f"more bytes of state in {small_disk}: No space left on device; make room there" in done.stdout


def test_a_file_that_may_not_grow_is_an_error(tmp_path: Path) -> None:
    arena = Arena.open(tmp_path / "a.arena")
    arena.array("a", (1000,))[:] = 7
    with files_up_to(ROOM), pytest.raises(SashError, match=f"more bytes of state in {tmp_path}"):
        arena.resize("a", ROOM)
    assert arena.array("a", (1000,)).tolist() == [7] * 1000


def test_a_file_is_reserved_where_the_system_cannot_be_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    arena = Arena.open(tmp_path / "a.arena")
    arena.array("a", (1 << 18,))
    assert (tmp_path / "a.arena").stat().st_blocks * 512 >= 8 << 18


def test_a_database_without_room_refuses_to_go_on_half_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arenas.Arena, "anonymous", staticmethod(lambda: Arena.open(tmp_path / f"{len(list(tmp_path.iterdir()))}.arena")))
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT k, n FROM s")
    db.push("s", [(1, "a", 1)])
    with files_up_to(ROOM), pytest.raises(SashError, match=r"no room for .* more bytes of state"):
        db.push("s", [(2, f"key {n}", n) for n in range(200_000)])
    with pytest.raises(SashError, match=r"stopped in the middle of its work: no room for .*make room there.*; then connect again"):
        db.view("v")
