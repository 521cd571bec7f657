"""Compiled kernels find a place, whatever may be written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import sash

PROGRAM = """
import glob, importlib, os, sys
import sash.kernels.counting
from sash.kernels import compiling
for path in glob.glob(os.path.dirname(compiling.__file__) + "/*.py"):
    importlib.import_module("sash.kernels." + os.path.basename(path)[:-3].replace("__init__", "compiling"))
@compiling.kernel
def twice(n):
    return 2 * n
print(twice(21), compiling.IS_KEPT, os.environ.get("NUMBA_CACHE_DIR"))
"""


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A copy of Sash beside which nothing can be kept, not even by root."""
    shutil.copytree(next(iter(sash.__path__)), tmp_path / "lib/sash", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "lib/sash/kernels/__pycache__").touch()  # no folder
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def run(install: Path) -> subprocess.CompletedProcess[str]:
    """As somebody without a home."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(install / "lib"), "HOME": "/dev/null", "TMPDIR": str(install / "tmp")}
    command = [sys.executable, "-B", str(install / "program.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_a_read_only_install_without_a_writable_home(install: Path) -> None:
    """It said: cannot cache function, no locator available."""
    result = run(install)
    assert result.returncode == 0, result.stderr
    (kept,) = (install / "tmp").iterdir()
    assert result.stdout.split() == ["42", "True", str(kept)]
    assert result.stderr.count("compiled kernels cannot be kept beside Sash") == 1
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700 and list(kept.rglob("*.nbi"))


def test_the_folder_of_somebody_else_is_not_used(install: Path) -> None:
    """What lies in it would be run."""
    theirs = install / "tmp" / f"sash-kernels-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)
    result = run(install)
    assert result.returncode == 0, result.stderr
    number, is_kept, folder = result.stdout.split()
    assert (number, is_kept) == ("42", "True") and Path(folder).parent == install / "tmp" and Path(folder) != theirs
    assert not list(theirs.iterdir())
