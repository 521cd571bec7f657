"""Compiled kernels find a place, whatever may be written."""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

import sash
from sash.kernels.compiling import IS_KEPT, kernel, unspecialized

pytestmark = pytest.mark.laws  # processes that compile: seconds

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


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Functions of a file of their own, whose compiled forms are kept in a folder of their own."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "kept_functions.py").write_text("def twice(n):\n    return 2 * n\n\n\ndef thrice(n):\n    return 3 * n\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kept_functions", raising=False)
    return importlib.import_module("kept_functions")


def is_found(function: Callable[[int], int]) -> bool:
    """Whether it was there, compiled, for a process that begins now."""
    compiled = kernel(function)
    assert compiled(7) == function(7)
    return bool(compiled.stats.cache_hits)


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 16
    path.write_bytes(data)


DAMAGES: list[Callable[[Path], object]] = [
    lambda path: path.unlink(),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    lambda path: path.write_bytes(bytes(path.stat().st_size)),
    lambda path: shutil.copy(next(path.parent.glob(f"*thrice*{path.suffix}")), path),
    *(lambda path, place=place: _flip(path, place) for place in (0, 20, -1)),  # type: ignore[misc]
]


@pytest.mark.skipif(not IS_KEPT, reason="nothing is kept here")
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_kernel_is_compiled_again(functions: ModuleType, tmp_path: Path, suffix: str) -> None:
    """An empty file was an EOFError in every process from then on; a flipped bit, another program."""
    assert not is_found(functions.twice) and not is_found(functions.thrice)
    (path,) = (tmp_path / "kept").rglob(f"*twice*{suffix}")
    for damage in DAMAGES:
        assert is_found(functions.twice)
        damage(path)
        assert not is_found(functions.twice)


@pytest.mark.skipif(not IS_KEPT, reason="nothing is kept here")
def test_code_of_an_earlier_source_is_not_taken_for_that_of_this_one(functions: ModuleType, tmp_path: Path) -> None:
    is_found(functions.twice)
    (path,) = (tmp_path / "kept").rglob("*.nbc")
    earlier = path.read_bytes()
    with open(tmp_path / "kept_functions.py", "a") as source:
        source.write("# changed\n")
    assert not is_found(functions.twice)
    path.write_bytes(earlier)
    assert not is_found(functions.twice)
    assert is_found(functions.twice)


@pytest.mark.skipif(not IS_KEPT, reason="nothing is kept here")
def test_a_kernel_is_compiled_again_when_a_module_it_imports_has_changed(tmp_path: Path) -> None:
    """Numba looked at the kernel's own file alone: a constant of another module stayed as it was."""
    shutil.copytree(next(iter(sash.__path__)), tmp_path / "sash", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sash/factor.py").write_text("FACTOR = 2\n")
    (tmp_path / "sash/multiple.py").write_text(
        "from sash.factor import FACTOR\nfrom sash.kernels.compiling import kernel\n@kernel\ndef multiple(n):\n    return FACTOR * n\n"
    )

    def multiple_of_seven() -> list[str]:
        program = "from sash.multiple import multiple; print(multiple(7), sum(multiple.stats.cache_hits.values()))"
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert multiple_of_seven() == ["14", "0"] and multiple_of_seven() == ["14", "1"]
    for module in ("factor", "multiple"):
        os.utime(tmp_path / f"sash/{module}.py", (1, 1))
    assert multiple_of_seven() == ["14", "1"]  # only older than it was
    (tmp_path / "sash/factor.py").write_text("FACTOR = 3\n")
    assert multiple_of_seven() == ["21", "0"]


AT_ONCE = """
import sys
import time
from once_functions import shared
from sash.kernels.compiling import kernel
compiled = kernel(shared)
print("ready", flush=True)
sys.stdin.readline()
assert compiled(7) == 14
print(sum(compiled.stats.cache_misses.values()), flush=True)
"""


@pytest.mark.skipif(not IS_KEPT, reason="nothing is kept here")
@pytest.mark.parametrize("is_held", [True, False])
def test_of_processes_that_want_a_kernel_at_once_one_compiles_it(tmp_path: Path, is_held: bool) -> None:
    """Also where the one that was to do it dies: here it is this one, which holds the turn until all others wait for it."""
    (tmp_path / "once_functions.py").write_text("def shared(n):\n    return 2 * n\n")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", AT_ONCE]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    try:
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3  # type: ignore[union-attr]
        found = run_python("import numba, once_functions; from sash.kernels.compiling import kernel\n"
                           "c = kernel(once_functions.shared)._cache; print(c.cache_path + '/' + c._impl.filename_base + '.lock')", environment)
        lock = Path(found.strip())
        lock.parent.mkdir(parents=True, exist_ok=True)
        with open(lock, "wb") as turn:
            if is_held:
                fcntl.flock(turn, fcntl.LOCK_EX)
            for process in processes:
                process.stdin.write("\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
            if is_held:
                end = time.monotonic() + 60
                while len(waiting_for(lock)) < 3:
                    assert time.monotonic() < end
                    time.sleep(0.05)
                assert all(process.poll() is None for process in processes)
        assert sorted(int(process.communicate()[0]) for process in processes) == [0, 0, 1]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run_python(program: str, environment: dict[str, str]) -> str:
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout


def waiting_for(path: Path) -> set[int]:
    """The other processes that have a file open."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(link) == str(path) and int(link.parts[2]) != os.getpid():
                found.add(int(link.parts[2]))
    return found


@pytest.mark.parametrize(("compiler", "forms"), [(kernel, 2), (unspecialized, 1)], ids=["kernel", "unspecialized"])
def test_of_how_many_forms_a_function_is_that_others_call_with_constants(functions: ModuleType, compiler: Callable[..., Any], forms: int) -> None:
    inner = compiler(functions.twice)

    @numba.njit
    def outer() -> int:
        return inner(7) + inner(8)  # type: ignore[no-any-return]

    assert outer() == 30
    assert len(inner.signatures) == forms


def test_whether_a_kernel_was_compiled_before_goes_by_its_source(functions: ModuleType, tmp_path: Path) -> None:
    """After an upgrade the files of the earlier one still lie there."""
    cache = kernel(functions.twice)._cache
    assert not cache.is_kept
    is_found(functions.twice)
    assert cache.is_kept
    with open(tmp_path / "kept_functions.py", "a") as source:
        source.write("# changed\n")
    assert not kernel(functions.twice)._cache.is_kept
