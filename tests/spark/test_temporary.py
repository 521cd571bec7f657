"""Checkpoints for one process do not outlive it for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sash.spark.own_folder import own_folder
from sash.spark.temporary import TemporaryFolder

KILLED = """
import os, signal
from sash.spark.temporary import TemporaryFolder
folder = TemporaryFolder()
(folder.path / "state").mkdir()
(folder.path / "state/file").write_text("x")
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def there() -> list[str]:
    return sorted(os.listdir(own_folder() / "temporary"))


def test_what_a_killed_process_has_left_goes_when_the_next_one_begins() -> None:
    """They stayed for ever."""
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = Path(done.stdout.strip())
    assert (left / "state/file").exists() and there() == [left.name, f"{left.name}.lock"]
    mine = TemporaryFolder()
    assert there() == [mine.path.name, f"{mine.path.name}.lock"]
    mine.remove()
    assert there() == []


def test_those_of_processes_that_live_stay() -> None:
    first, second = TemporaryFolder(), TemporaryFolder()
    (first.path / "file").touch()
    third = TemporaryFolder()
    assert (first.path / "file").exists() and second.path.exists()
    assert first.path.stat().st_mode & 0o777 == 0o700
    for one in (first, second, third):
        one.remove()
        one.remove()
    assert there() == []


def test_a_name_that_another_takes_away_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between making the lock and locking it, who removes what is left took it for one that nobody has."""
    from sash.spark import temporary

    has_locked, seen = temporary._has_locked, []

    def slowly(descriptor: int) -> bool:
        if not seen:
            seen.append(there())
            for name in there():
                os.unlink(own_folder() / "temporary" / name)
        return has_locked(descriptor)

    monkeypatch.setattr(temporary, "_has_locked", slowly)
    folder = TemporaryFolder()
    assert seen[0] != there() == [folder.path.name, f"{folder.path.name}.lock"]
    folder.remove()
