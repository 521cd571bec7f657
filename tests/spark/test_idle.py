"""A silent stream follows the others, once its time is over."""

from __future__ import annotations

from dataclasses import replace

import counting

from sash.logical.streams import StreamSpec
from sash.spark.idle import IdleRule
from sash.spark.keeper import GREATEST


def named(name: str, **facts: object) -> StreamSpec:
    return replace(counting.stream(None), name=name, **facts)  # type: ignore[arg-type]


def told(greatest: dict[str, int]) -> list[dict[str, int | None]]:
    return [{f"{GREATEST}{name}": ts for name, ts in greatest.items()}, {"state": 1}]


def test_a_silent_stream_follows_the_least_clock_of_the_others() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one", delay=5), named("two")], now=0)
    rule.saw(told({"one": 50, "two": 60}), now=40)
    assert rule.advances(now=99) == {}
    assert rule.advances(now=100) == {"quiet": 45}
    assert rule.advances(now=101) == {}
    rule.saw(told({"one": 90, "two": 70}), now=150)
    assert rule.advances(now=150) == {"quiet": 70}


def test_a_stream_that_speaks_again_is_not_idle() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one")], now=0)
    rule.saw(told({"one": 50}), now=0)
    assert rule.advances(now=100) == {"quiet": 50}
    rule.saw(told({"quiet": 60, "one": 80}), now=110)
    assert rule.advances(now=150) == {}
    assert rule.advances(now=210) == {"quiet": 80}


def test_nobody_to_follow() -> None:
    both = IdleRule([named("one", idle=100), named("two", idle=100)], now=0)
    both.saw(told({"one": 50, "two": 70}), now=0)
    assert both.advances(now=500) == {}
    unheard = IdleRule([named("one", idle=100), named("two")], now=0)
    assert unheard.advances(now=500) == {}


def test_time_never_goes_back() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one")], now=0)
    rule.saw(told({"quiet": 90, "one": 50}), now=0)
    rule.saw(told({"one": 60}), now=200)
    assert rule.advances(now=200) == {}
    rule.saw(told({"one": 95}), now=201)
    assert rule.advances(now=202) == {"quiet": 95}


def test_without_a_rule_nothing_moves() -> None:
    rule = IdleRule([named("one"), named("table", is_table=True)], now=0)
    assert not rule.is_set
    assert rule.advances(now=10**12) == {}
