"""A silent stream follows the others, once its time is over."""

from __future__ import annotations

from dataclasses import replace

import counting

from sash.plan.streams import Stamp, StreamSpec
from sash.runtime.packets import Cargo, Packet, told_body
from sash.schema import SECOND
from sash.spark.idle import IdleRule
from sash.spark.shard_task import GREATEST, PARTITIONS


def named(name: str, **facts: object) -> StreamSpec:
    return replace(counting.stream(None), name=name, **facts)  # type: ignore[arg-type]


def told(greatest: dict[str, int]) -> list[dict[str, int | None]]:
    return [{f"{GREATEST}{name}": ts for name, ts in greatest.items()}, {"state": 1}]


def test_a_silent_stream_follows_the_least_clock_of_the_others() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one", delay=5), named("two")], now=0)
    rule.observe(told({"one": 50, "two": 60}), now=40)
    assert rule.advances(now=99) == {}
    assert rule.advances(now=100) == {"quiet": 45}
    assert rule.advances(now=101) == {}
    rule.observe(told({"one": 90, "two": 70}), now=150)
    assert rule.advances(now=150) == {"quiet": 70}


def test_a_stream_that_speaks_again_is_not_idle() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one")], now=0)
    rule.observe(told({"one": 50}), now=0)
    assert rule.advances(now=100) == {"quiet": 50}
    rule.observe(told({"quiet": 60, "one": 80}), now=110)
    assert rule.advances(now=150) == {}
    assert rule.advances(now=210) == {"quiet": 80}


def test_all_alone_time_goes_on_as_on_the_wall() -> None:
    both = IdleRule([named("one", idle=SECOND), named("two", idle=SECOND)], now=0, horizon=3 * SECOND)
    both.observe(told({"one": 50, "two": 70}), now=0)
    assert both.advances(now=SECOND - 1) == {}
    assert both.advances(now=SECOND) == {"one": SECOND + 70, "two": SECOND + 70}
    assert both.advances(now=SECOND + 1) == {}
    assert both.advances(now=2 * SECOND) == {"one": 2 * SECOND + 70, "two": 2 * SECOND + 70}
    assert both.advances(now=4 * SECOND) == {"one": 4 * SECOND + 70, "two": 4 * SECOND + 70}
    assert both.advances(now=9 * SECOND) == {}  # every row is gone
    both.observe(told({"one": 20 * SECOND}), now=20 * SECOND)
    assert both.advances(now=20 * SECOND + 1) == {"two": 20 * SECOND}


def test_nobody_to_follow() -> None:
    unheard = IdleRule([named("one", idle=100), named("two")], now=0)
    assert unheard.advances(now=500) == {}
    silent = IdleRule([named("one", idle=100)], now=0, horizon=10**9)
    assert silent.advances(now=10**9) == {}


def test_a_stream_that_is_stamped_on_arrival_goes_on_with_the_wall() -> None:
    rule = IdleRule([named("stamped", stamp=Stamp.INTERNAL, timestamp=None)], now=0, horizon=2 * SECOND)
    assert rule.is_set
    assert rule.advances(now=SECOND) == {}  # it has not begun
    rule.observe(told({"stamped": SECOND}), now=SECOND)
    assert rule.advances(now=SECOND + 10) == {}
    assert rule.advances(now=2 * SECOND) == {"stamped": 2 * SECOND}
    assert rule.advances(now=2 * SECOND + 1) == {}
    assert rule.advances(now=3 * SECOND + 1) == {"stamped": 3 * SECOND + 1}
    assert rule.advances(now=9 * SECOND) == {}  # what it was told was enough


def test_time_never_goes_back() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one")], now=0)
    rule.observe(told({"quiet": 90, "one": 50}), now=0)
    rule.observe(told({"one": 60}), now=200)
    assert rule.advances(now=200) == {}
    rule.observe(told({"one": 95}), now=201)
    assert rule.advances(now=202) == {"quiet": 95}


def test_without_a_rule_nothing_moves() -> None:
    rule = IdleRule([named("one"), named("table", is_table=True)], now=0)
    assert not rule.is_set
    assert rule.advances(now=10**12) == {}


def of_partitions(stream: str, clocks: dict[str, int], heard: list[str]) -> list[Packet]:
    body = told_body({"stream": stream, "clocks": clocks, "heard": heard})
    return [Packet(0, 0, Cargo.FACTS, PARTITIONS, -1, 0, body)]


def test_a_silent_partition_follows_the_others() -> None:
    rule = IdleRule([named("parted", idle=100), named("one")], now=0)
    rule.observe(told({"one": 90, "parted": 70}), now=0)
    rule.saw_partitions(of_partitions("parted", {"a": 10, "b": 60, "c": 20}, ["a", "b", "c"]), now=10)
    assert rule.advances(now=109) == {}
    rule.saw_partitions(of_partitions("parted", {"a": 10, "b": 80, "c": 20}, ["b"]), now=60)
    assert list(rule.events(now=110)) == [{"advance": 80, "stream": "parted", "partitions": ["a", "c"]}]
    assert list(rule.events(now=111)) == []
    rule.saw_partitions(of_partitions("parted", {"a": 80, "b": 95, "c": 80}, ["b"]), now=120)
    assert list(rule.events(now=121)) == [{"advance": 90, "stream": "parted", "partitions": ["a", "c"]}]
    rule.saw_partitions(of_partitions("parted", {"a": 91, "b": 95, "c": 90}, ["a"]), now=130)
    rule.observe(told({"one": 300}), now=131)
    assert list(rule.events(now=140)) == [{"advance": 91, "stream": "parted", "partitions": ["c"]}]


def test_a_stream_without_a_rule_is_followed_at_its_least_partition() -> None:
    rule = IdleRule([named("quiet", idle=100), named("parted")], now=0)
    rule.observe(told({"parted": 70}), now=0)
    rule.saw_partitions(of_partitions("parted", {"a": 10, "b": 60}, ["a", "b"]), now=0)
    assert list(rule.events(now=100)) == [{"advance": 10, "stream": "quiet"}]
    rule.watch([named("quiet", idle=100), named("parted"), named("new")], now=100, horizon=0)
    rule.observe(told({"new": 50}), now=100)
    rule.saw_partitions(of_partitions("parted", {"a": 30, "b": 60}, ["a"]), now=101)
    assert list(rule.events(now=300)) == [{"advance": 30, "stream": "quiet"}]


def test_a_stream_that_nobody_watches_has_no_partitions() -> None:
    rule = IdleRule([named("one", idle=100)], now=0)
    rule.saw_partitions(of_partitions("gone", {"a": 10}, ["a"]), now=0)
    assert list(rule.events(now=1000)) == []


def test_silence_counts_as_far_as_streams_have_been_read() -> None:
    rule = IdleRule([named("quiet", idle=100), named("one")], now=0)
    rule.observe(told({"one": 50}), now=40)
    assert rule.advances(now=500, read_until=99) == {}
    assert rule.advances(now=510, read_until=100) == {"quiet": 50}
    alone = IdleRule([named("one", idle=SECOND)], now=0, horizon=9 * SECOND)
    alone.observe(told({"one": 50}), now=0)
    assert alone.advances(now=5 * SECOND, read_until=SECOND // 2) == {}
    assert alone.advances(now=5 * SECOND, read_until=2 * SECOND) == {"one": 2 * SECOND + 50}
