"""A job, played in every way that must not show: batch sizes, shards, restarts, expiry strategies, with and without optimizer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import sash
from reopening import reopened
from sash.plan.rules.optimize import optimize
from sash.planner.choose import offers
from sash.planner.job import Job, plan_job
from sash.planner.placement import Expiry
from sash.runtime.packets import Cargo, Packet, facts_body
from sash.runtime.packing import NO_DEAD, pack_split, to_everyone
from sash.runtime.shard import Shard
from sash.sources.convert import convert
from sash.stores.arena import Arena
from sash.testing.tables import Change, from_arrow

Streams = Mapping[str, Sequence[tuple[object, ...]]]


@dataclass(frozen=True)
class Way:
    """How to play a job; `seed` decides which stream comes next."""

    size: int = 1
    seed: int | None = None
    shards: int = 1
    expiry: Expiry = Expiry.AUTO
    is_optimized: bool = True
    offer: int | None = None  # which of the ways that a planner may choose from, modulo their number
    restarts: bool = False  # after every push


def embedded(sql: str, rows: Streams, size: int, view: str = "v") -> list[Change]:
    """The changelog that a user of the embedded engine sees."""
    db = sash.connect()
    db.execute(sql)
    for name, part in pushes(db, rows, Way(size)):
        db.push(name, part)
    db.end()
    return from_arrow(db.changes(view))


def pushes(db: sash.Database, rows: Streams, way: Way) -> Iterator[tuple[str, Sequence[tuple[object, ...]]]]:
    """The rows of tables, then those of the streams in pieces, in turn or at random."""
    tables = [name for name in rows if db.catalog.streams[name].is_table]
    yield from ((name, rows[name]) for name in tables)
    pieces = {
        name: [rows[name][start : start + way.size] for start in range(0, len(rows[name]), way.size)]
        for name in rows if name not in tables
    }  # fmt: skip
    chance = random.Random(way.seed)
    turn = 0
    while left := [name for name, waiting in pieces.items() if waiting]:
        name = left[turn % len(left)] if way.seed is None else chance.choice(left)
        yield name, pieces[name].pop(0)
        turn += 1


def planned(db: sash.Database, way: Way) -> Job:
    views = {view.name: view.plan for view in db.materialized().values()}
    if way.offer is not None:
        chosen = {name: offers(plan, way.shards, way.expiry) for name, plan in views.items()}
        picked = {name: found[way.offer % len(found)].choice for name, found in chosen.items()}
        return plan_job(db.catalog.streams, picked, way.shards, way.expiry)
    if way.is_optimized:
        views = {name: optimize(plan) for name, plan in views.items()}
    return plan_job(db.catalog.streams, views, way.shards, way.expiry)


def played(sql: str, rows: Streams, way: Way, folder: Path | None = None, view: str = "v") -> list[tuple[str, int]]:
    """The net changes of a view over all shards: the instant and the row as text, and how often it came or left."""
    db = sash.connect()
    db.execute(sql)
    job = planned(db, way)
    addresses = [(level, shard) for level in range(1, job.levels + 1) for shard in range(job.shards)]
    arenas = {address: Arena.anonymous() for address in addresses}
    total: Counter[str] = Counter()
    shards = {address: Shard(job, *address, arenas[address]) for address in addresses}
    for packets in batches(db, job, rows, way):
        if way.restarts:
            arenas = {address: reopened(arena) for address, arena in arenas.items()}
            shards = {address: Shard(job, *address, arenas[address]) for address in addresses}
        waiting = list(packets)
        for address, shard in shards.items():
            out = shard.step([packet for packet in waiting if (packet.level, packet.shard) == address])
            waiting += [packet for packet in out if packet.level]
            for packet in out:
                if packet.cargo is Cargo.CHANGES and packet.name == view:
                    for change in from_arrow(pa.Table.from_batches([packet.batch()])):
                        total[repr((change.ts, change.row))] += change.op
    for arena in arenas.values():
        arena.close()
    return sorted((change, op) for change, op in total.items() if op)


def batches(db: sash.Database, job: Job, rows: Streams, way: Way) -> Iterator[Iterator[Packet]]:
    read = {stream.name: stream for stream in job.streams}
    for order, (name, part) in enumerate(pushes(db, rows, way)):
        if name in read:
            result = convert(read[name], list(part))
            yield pack_split(job, read[name], order, result.batch, NO_DEAD, None)
    yield to_everyone(job, Cargo.CONTROL, "", 0, facts_body({"end": 1, "until": None}))
