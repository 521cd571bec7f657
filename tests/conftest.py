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
    """What needs Spark begins first: it takes longest. Each process that gets some of it has a session of its own."""
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))
