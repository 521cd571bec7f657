"""Tests find what they share beside this file; random ones are the same in every run, and take the time they need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sash.deltas import MOST_SHARED, shared_forever
from sash.schema import FOREVER

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

settings.register_profile("sash", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sash")


LAWS = ("properties", "cases", "damage", "simulation", "fuzz")  # folders of tests that play many queries or many inputs


def lane(item: pytest.Item) -> str:
    """Which lane a test runs in: what needs a JVM (tests that start one of their own say so by the mark), what plays much, and
    all else."""
    if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark") is not None:
        return "spark"
    return "laws" if item.path.relative_to(TESTS).parts[0] in LAWS else "fast"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test is marked with its lane. What needs Spark begins first: it takes longest. Each process that gets some of it has a
    session of its own."""
    for item in items:
        item.add_marker(lane(item))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(autouse=True, scope="module")
def shared_expiries_are_not_written_to() -> Iterator[None]:
    """Whatever the tests of a file did."""
    yield
    assert all((shared_forever(power) == FOREVER).all() for power in range(MOST_SHARED.bit_length() + 1))
