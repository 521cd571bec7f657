"""The soak runs on both hosts, its answers are right, and it finds what grows."""

from __future__ import annotations

import mmap
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from soak.embedded import Embedded
from soak.load import VIEWS, Load
from soak.restarts import restarts
from soak.soak import Soaked, soak
from soak.trend import Room, table, trend

ROOM = Room(0.05, 2)


def told(line: str) -> None:
    return


@pytest.mark.parametrize(
    ("values", "grows"),
    [
        ([10.0] * 30, False),
        ([10.0 + place for place in range(30)], True),
        ([10.0 + place**2 / 10 for place in range(30)], True),
        ([30.0 - place for place in range(30)], False),
        ([10.0] * 22 + [99.0] * 8, False),  # an array that doubled once
        ([10.0] * 8 + [99.0] * 22, False),
        ([10.0, 12.0, 11.0] * 10, False),
        ([10.0] * 9 + [500.0] + [10.0] * 20, False),  # a spike
        ([100.0 + place / 10 for place in range(30)], False),  # within what it may vary by
    ],
)
def test_growth(values: list[float], grows: bool) -> None:
    found = trend("memory", values, ROOM)
    assert found.grows is grows
    assert ("GROWS" in table([found])) is grows


def _leaking() -> Soaked:
    """A soak whose every tick leaks a descriptor and a megabyte."""
    host, leaked = Embedded("10 SECONDS"), []
    host.pause = 0.0

    def leak() -> None:
        pages = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.write(bytes(1 << 20))
        leaked.append((os.open("/dev/null", os.O_RDONLY), pages))

    try:
        soaked = soak(host, 6, told, leak)
        assert host.read
    finally:
        host.close()
    return soaked


def test_a_soak_finds_a_leak() -> None:
    """Of descriptors and of memory, in seconds; and nothing else is taken for one. In a process of its own: what may grow is a share of
    what a process has, and one that has run thousands of tests has much."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
        soaked = alone.submit(_leaking).result()
    assert soaked.ticks > 20
    assert {"descriptors", "memory MB"} <= set(soaked.grows), table(soaked.trends)
    assert "threads" not in soaked.grows


def test_a_soak_finds_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    host, load = Embedded("none"), Load()
    for _ in range(30):
        host.tick(load.tick())
    for view in VIEWS:
        host.check(load, view)
    answer = host.answer("counts")
    monkeypatch.setattr(host, "answer", lambda view: answer[1:])
    with pytest.raises(AssertionError):
        host.check(load, "counts")
    host.close()


def test_a_restart_does_not_depend_on_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few hundred batches: `./run restarts` is for more. What is on the disk is what a restart has to look at, and Spark's own
    logs of 100 batches are a part of it."""
    monkeypatch.setattr("sash.spark.files.CHUNK", 16)
    monkeypatch.setattr("sash.spark.files.MANY", 64)
    first, last = restarts([150, 350], "30 SECONDS")
    assert last.checkpoint_files < 1.2 * first.checkpoint_files and last.output_files < first.output_files + 40
    assert last.checkpoint_kilobytes < 1.2 * first.checkpoint_kilobytes
