"""Spreading anew: the shards of a job, made again for another number of them.

    old shards of a level ─▶ what they know of time, which is the same on all
                          ─▶ what ports hold, by the hash of the key ─▶ ports of the new shards
                                                  ─▶ [ operators of all views, filled from these ] ─▶ exchanges ─▶ next level

Operators are not cut: they are filled with the rows that ports remember for views that come later, as CREATE VIEW does it. That
makes an operator as it is if it looks back no further than memory goes (`views_that_cannot` says for which views it does not).
What the operators give while they are filled has been given before, by the old shards. It comes to what the views hold, which
is for the caller to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from sash.operators.spec import PortSpec, Spec, parts
from sash.plan.patterns import Pattern
from sash.planner.job import Job, View
from sash.planner.lookback import lookbacks
from sash.runtime.packets import Packet
from sash.runtime.remains import Remains
from sash.runtime.shard import Outcome, Shard
from sash.stores.arena import Arena

OF_TIME = ("shard", "time", "asked time", "streams", "times")  # scopes of an arena, without a row in them


class Made(NamedTuple):
    """A new shard, and what its views hold."""

    level: int
    shard: int
    arena: Arena
    held: list[tuple[str, pa.RecordBatch]]


def spread(
    job: Job, old: Callable[[int], Sequence[tuple[Shard, Arena]]], make_arena: Callable[[int, int], Arena]
) -> Iterator[Made]:
    """The shards of a job, which has the new number of them, from the old ones of every level. Levels from below."""
    sent: list[Packet] = []
    for level in range(1, job.levels + 1):
        shards = old(level)
        ports = [port for port in job.ports if port.level == level and port.stream is not None]
        cut = {port.spec: list(_remains(port.spec, shards).spread(port, job.shards)) for port in ports}
        above: list[Packet] = []
        for number in range(job.shards):
            arena = make_arena(level, number)
            remains = {port: parts_[number] for port, parts_ in cut.items()}
            shard = _with_ports(job, level, number, arena, shards, remains)
            came = [packet for packet in sent if (packet.level, packet.shard) == (level, number)]
            held: list[tuple[str, pa.RecordBatch]] = []
            above += _told(shard.take_up(job), held)
            above += _told(shard.work(came), held)
            yield Made(level, number, arena, held)
        sent = [packet for packet in sent if packet.level > level] + above


def views_that_cannot(job: Job, level: int, shards: Sequence[Shard]) -> Iterator[View]:
    """The views of which an operator holds what ports of this level no longer remember the rows of."""
    for view in job.first_views:
        if any(not shard.remembers_all(part, view) for part in stateful_parts(view) for shard in shards):
            yield view


def stateful_parts(view: View) -> list[Spec]:
    """The operators of a view that keep something."""
    return [part for part in parts(view.spec) if part.keeps]


def comes_to_its_answer(view: View) -> bool:
    """Whether what a view gives while it is filled comes to all that it holds: not if it goes back to the first row, nor if it
    holds what was said once, whatever became of it."""
    is_bounded = all(reach.is_bounded for reach in lookbacks(view.spec).values())
    return is_bounded and view.spec.pattern is not Pattern.MONOTONIC


def _remains(port: PortSpec, shards: Sequence[tuple[Shard, Arena]]) -> Remains:
    found = (shard.intake(port) for shard, _ in shards)
    return Remains.together([intake.hand_over() for intake in found if intake is not None])


def _with_ports(
    job: Job, level: int, number: int, arena: Arena, old: Sequence[tuple[Shard, Arena]], remains: dict[PortSpec, Remains]
) -> Shard:
    """A new shard without a view, that knows the time and has all rows at its ports."""
    for scope in OF_TIME:
        arena.copy(old[0][1], scope)
    ports = tuple(port for port in job.ports if port.stream is not None)
    shard = Shard(replace(job, views=(), ports=ports), level, number, arena)
    for theirs, _ in old:
        shard.clocks.learn_beginnings(theirs.clocks)
    for port, held in remains.items():
        intake = shard.intake(port)
        assert intake is not None
        intake.take_over(held)
    return shard


def _told(out: Outcome, held: list[tuple[str, pa.RecordBatch]]) -> list[Packet]:
    """What goes to higher levels; changes of views are kept apart, while their lanes are good."""
    held += [(view.view.name, view.whole(net)) for view, net in out.changes if len(net)]
    return out.sent
