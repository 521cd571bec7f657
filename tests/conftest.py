"""Tests find what they share beside this file; random ones are the same in every run, and take the time they need."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("sash", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sash")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares the Spark session runs in one process, and begins first: it takes longest."""
    for item in items:
        if _wants_spark(item):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: not _wants_spark(item))


def _wants_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())
