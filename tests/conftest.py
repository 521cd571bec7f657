"""Tests find what they share beside this file; random ones are the same in every run, and take the time they need."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from lengths import count
from sash.deltas import MOST_SHARED, shared_forever
from sash.schema import FOREVER

if TYPE_CHECKING:
    from kafka_broker import Broker
    from mariadb_server import MariaDbServer
    from postgres_server import PostgresServer

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

settings.register_profile(
    "sash", max_examples=count(50, 100), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sash")


LAWS = ("properties", "cases", "slt", "damage", "simulation", "fuzz", "benchmarks")  # folders of tests that play many queries or many inputs
SERVERS = ("spark", "kafka", "postgres", "mariadb")  # fixtures that take long to start; a test that asks for several goes with the first
LANES = ("spark", "laws", "fast")  # in the order in which they begin: what takes longest first, what is short fills the gaps at the end


def lane(item: pytest.Item) -> str:
    """Which lane a test runs in: what needs a JVM, what plays much, and all else. Tests that start a JVM of their own, or take long
    outside of these folders, say so by the mark."""
    if "spark" in getattr(item, "fixturenames", ()):
        return "spark"
    marked = next((name for name in LANES if item.get_closest_marker(name) is not None), None)
    return marked or ("laws" if item.path.relative_to(TESTS).parts[0] in LAWS else "fast")


def shared_fixture(item: pytest.Item) -> str | None:
    """What a test shares with others: a server, or a fixture that is made once for a file."""
    made = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    ours = [name for name, (*_, one) in made.items() if one.scope != "function" and TESTS in Path(one.func.__code__.co_filename).parents]
    return next((name for name in (*SERVERS, *ours) if name in ours and name != shared_expiries_are_not_written_to.__name__), None)


def turn(item: pytest.Item) -> tuple[int, int]:
    """When a test begins: by its lane, and in it first with those that share most, which one process does one after the other."""
    group = item.get_closest_marker("xdist_group")
    shared = SERVERS.index(group.args[0]) if group is not None and group.args[0] in SERVERS else len(SERVERS) + (group is None)
    return next(place for place, name in enumerate(LANES) if item.get_closest_marker(name) is not None), shared


def pytest_configure(config: pytest.Config) -> None:
    """Groups begin in the order of their tests: xdist would begin with those of most tests, and end with the longest."""
    config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)  # before xdist looks who belongs together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test is marked with its lane. All that share something run in one process, one after the other, while the other process
    does without it."""
    for item in items:
        item.add_marker(lane(item))
        if (shared := shared_fixture(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(shared))
    items.sort(key=turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tests of a group that run anywhere are right, but slow, and nobody would notice."""
    grouped = [item for item in session.items if item.get_closest_marker("xdist_group") is not None]
    if session.config.getoption("loadgroup", False) and not all("@" in item.nodeid for item in grouped):
        warnings.warn("groups of tests have no effect with this pytest: install one below 9.2", stacklevel=1)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    from kafka_broker import broker

    with broker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """As the last test has left it."""
    from postgres_server import postgres_server

    with postgres_server() as running:
        yield running


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDbServer]:
    """As the last test has left it."""
    from mariadb_server import mariadb_server

    with mariadb_server() as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def shared_expiries_are_not_written_to() -> Iterator[None]:
    """Whatever the tests of a file did."""
    yield
    assert all((shared_forever(power) == FOREVER).all() for power in range(MOST_SHARED.bit_length() + 1))
