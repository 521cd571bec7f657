"""DuckDB as a client of PostgreSQL, of the version whose extension for that is on the package index: another one than the tests
themselves use, so in a folder of its own.

It is fetched once, into a folder in the user's cache (SASH_TEST_CACHE, or ~/.cache/sash-tests). Without a network, tests that ask
for it are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VERSION = "1.5.5"
PACKAGES = (f"duckdb=={VERSION}", f"duckdb-extension-postgres-scanner=={VERSION}", "duckdb-extensions")
FETCHING = 300  # seconds


def duckdb_client() -> Path:
    """A folder for PYTHONPATH."""
    cache = Path(os.environ.get("SASH_TEST_CACHE") or Path.home() / ".cache/sash-tests")
    folder = cache / f"duckdb-{VERSION}-python{sys.version_info.major}.{sys.version_info.minor}"
    if folder.is_dir():
        return folder
    partial = cache / f".{folder.name}.{os.getpid()}"
    try:
        _fetch(partial)
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another test was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _fetch(folder: Path) -> None:
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(folder), *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCHING)
    except subprocess.TimeoutExpired:
        pytest.skip(f"pip did not fetch DuckDB {VERSION} within {FETCHING} seconds")
    if done.returncode:
        pytest.skip(f"pip could not fetch DuckDB {VERSION}: {done.stderr.strip()[:300]}")
