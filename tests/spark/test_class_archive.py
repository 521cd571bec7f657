"""An archive of Java's classes is made once and then used; one that was never finished is not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sash.spark import class_archive
from sash.spark.class_archive import LEFT, java_options
from sash.spark.spark_home import HOME

WHOLE, BEGUN = b"\xa8\xba\x0b\xf0 and more", b"\x00" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(class_archive.ASKED, "1")
    return class_archive.own_folder()


def left(folder: Path, process: int, contents: bytes, age: float = 0.0, java: Path = Path("/java")) -> Path:
    path = folder / f"classes-{class_archive._key(java)}-{process}.jsa"
    path.write_bytes(contents)
    written = path.stat().st_mtime - age
    os.utime(path, (written, written))
    return path


def test_a_session_that_is_asked_leaves_one_and_the_next_uses_it(folder: Path) -> None:
    assert f"-XX:ArchiveClassesAtExit={folder}/classes-" in java_options(Path("/java"))
    path = left(folder, os.getpid(), WHOLE)
    assert java_options(Path("/java")).endswith(f"-XX:SharedArchiveFile={path}")
    assert "ArchiveClassesAtExit" in java_options(Path("/another"))


def test_one_of_another_home_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(folder, 1, WHOLE)
    monkeypatch.setenv(HOME, "/elsewhere")
    assert "ArchiveClassesAtExit" in java_options(Path("/java"))


def test_a_session_that_is_not_asked_leaves_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(class_archive.ASKED)
    assert java_options(Path("/java")) == ""
    path = left(folder, 1, WHOLE)
    assert java_options(Path("/java")).endswith(f"-XX:SharedArchiveFile={path}")


def test_the_newest_that_is_whole_is_used_and_the_rest_removed(folder: Path) -> None:
    old, newest, being_written = left(folder, 1, WHOLE, 50), left(folder, 2, WHOLE, 20), left(folder, 3, BEGUN)
    given_up, of_another = left(folder, 4, BEGUN, LEFT + 1), left(folder, 5, WHOLE, 99, Path("/another"))
    assert java_options(Path("/java")).endswith(f"-XX:SharedArchiveFile={newest}")
    assert not old.exists() and not given_up.exists() and being_written.exists() and of_another.exists()


def test_one_that_is_being_written_is_not_used(folder: Path) -> None:
    left(folder, 1, BEGUN)
    left(folder, 2, b"")
    assert "ArchiveClassesAtExit" in java_options(Path("/java"))
