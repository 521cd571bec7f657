"""Tests find what they share beside this file; random ones are the same in every run, and take the time they need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sash.deltas import MOST_SHARED, shared_forever
from sash.schema import FOREVER

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("sash", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sash")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs Spark begins first: it takes longest. Each process that gets some of it has a session of its own."""
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))


@pytest.fixture(autouse=True, scope="module")
def shared_expiries_are_not_written_to() -> Iterator[None]:
    """Whatever the tests of a file did."""
    yield
    assert all((shared_forever(power) == FOREVER).all() for power in range(MOST_SHARED.bit_length() + 1))
