"""A question about live windows: the rows that are remembered for views to come are played through its operators, in a fork.

    remembered rows of the streams, rows that are held ─▶ [ operators of the question, in a fork of the state ] ─▶ the answer
    what views and tables hold now ──────────────────────▶

What a fork writes is its own, so nothing that runs is touched, and nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sash.operators.spec import PortSpec, Spec, parts
from sash.plan.streams import StreamSpec
from sash.plan.times import Time
from sash.planner.job import Job, View
from sash.planner.lookback import lookbacks
from sash.runtime.instants import Instants
from sash.runtime.intake import Intake
from sash.runtime.live import LiveView, Net, Shelf
from sash.runtime.packets import AsTheyAre, Cargo, Packet
from sash.runtime.packing import NO_DEAD, pack_split, to_everyone
from sash.runtime.shard import Shard
from sash.runtime.view_changes import held_by
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Arena


@dataclass(frozen=True)
class Missing:
    """Rows of a stream that an answer needs, and that are not remembered."""

    stream: str
    since: int  # all from this instant on are remembered; FOREVER: none is
    needed: int  # as are those from this one on; BEGINNING: all


@dataclass(frozen=True)
class Memory:
    """What a port has of its stream: all rows since an instant, and how many they are."""

    since: int
    rows: int

    @staticmethod
    def of(intake: Intake) -> Memory:
        return Memory(intake.since, intake.rows + intake.held)


@dataclass(frozen=True)
class Found:
    """The rows of an answer, sorted, at which instant it is, and what was missing for it."""

    rows: pa.Table
    instants: Instants
    missing: Missing | None


@dataclass(frozen=True)
class Beside:
    """Relations that a question reads beside streams: the times in which they change, and what they hold at an instant."""

    times: Collection[Time]
    has_begun: bool  # whether there was a row of any stream that they are made of
    rows: Callable[[int], Mapping[str, Net]]


def answer_in(
    fork: Arena, job: Job, spec: Spec, streams: Sequence[StreamSpec], beside: Beside, whole: Container[str]
) -> Found:
    """What a spec gives over the streams of a running job, and what it reads beside them: at the instant at which a view would be
    that reads all of it. Of some streams it needs the whole."""
    view, before = View("", spec, 1), _without_views(job, spec)
    for part in parts(spec):  # a view may run some of it: here it begins anew
        fork.drop(f"{part.fingerprint}/")
        fork.drop(f"{held_by(part)}/")
    shard = Shard(before, 1, 0, fork)
    memories = _memories(shard, spec)  # before it forgets what the question does not need
    asking = before.with_view(view, streams)
    instants = shard.clocks.together({view.time, *beside.times}, streams)
    began = shard.take_up(asking, list(_seeds(asking, before, beside.rows(instants.now))))
    if beside.has_begun:
        shard.clocks.begin_at(view.time, instants.now)
    missing = _missing(_memories(shard, spec) | memories, spec, instants.now, whole)
    ahead = shard.work(list(to_everyone(asking, Cargo.CONTROL, "", 0, {"look": 1, "at": instants.now})))
    live = LiveView(spec.schema, Shelf(shard.interner), spec.key_columns)
    for changes, net in (*began.changes, *ahead.changes):
        live.add(changes.whole(net))
    return Found(live.rows(), instants, missing)


def _without_views(job: Job, spec: Spec) -> Job:
    """What a spec reads of a job that runs, and nothing that runs over it."""
    read = {part.base for part in parts(spec) if isinstance(part, PortSpec)}
    ports = tuple(port for port in job.ports if port.spec in read)
    names = {port.stream for port in ports}
    return replace(job, views=(), ports=ports, streams=tuple(one for one in job.streams if one.name in names), schedules=())


def _seeds(job: Job, before: Job, relations: Mapping[str, Net]) -> Iterable[Packet]:
    """The rows of relations, for ports that do not have them."""
    new = {port.number for port in (job.new_ports(before) if job.remembers else job.ports)}
    for stream in job.streams:
        if stream.is_table and stream.name in relations:
            rows = relations[stream.name]
            whole = rows.combine_chunks().to_batches() if isinstance(rows, pa.Table) else [rows]
            for batch in whole:
                packets = pack_split(job, stream, 0, batch, NO_DEAD, None, AsTheyAre())
                yield from (packet for packet in packets if packet.port in new)


def _memories(shard: Shard, spec: Spec) -> dict[PortSpec, Memory]:
    """Of the ports of a spec that a shard has."""
    return {port: Memory.of(intake) for port in lookbacks(spec) if (intake := shard.intake(port)) is not None}


def _missing(memories: Mapping[PortSpec, Memory], spec: Spec, now: int, whole: Container[str]) -> Missing | None:
    """What is not remembered, and is needed at an instant; of some streams, all rows are."""
    for port, reach in lookbacks(spec).items():
        memory = memories[port]
        if memory.since == BEGINNING:
            continue
        if port.stream in whole or reach.time == FOREVER or memory.rows < reach.rows:
            return Missing(str(port.stream), memory.since, BEGINNING)
        if reach.time and memory.since + reach.time > now + 1:
            return Missing(str(port.stream), memory.since, now - reach.time + 1)
    return None
