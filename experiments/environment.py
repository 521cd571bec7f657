"""On what an experiment ran: versions, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "numba", "llvmlite", "pyarrow", "pyspark", "matplotlib", "sash")


def environment() -> dict[str, str]:
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := _version(name))},
        "machine": f"{processor()}, {os.cpu_count()} cores, {memory()} GB",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "load when it began": f"{os.getloadavg()[0]:.1f}",
    }


def commit() -> str:
    """And whether the checkout differs from it."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() or "no repository"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
