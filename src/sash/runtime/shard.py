"""A shard: one graph over one arena. What both hosts run.

    packets of a step ─▶ stream clocks, lateness ─▶ ports ─▶ graph ─▶ exchanges to higher levels, changes of views

A step is a function of the arena and its packets, so that a step that is run again gives the same answer again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.deltas import Delta
from sash.operators.changes import NetChanges, repeat
from sash.operators.emit import Emit
from sash.operators.input_expire import InputExpire
from sash.physical.job import Job, Port, View
from sash.physical.specs import PortSpec, Spec, beginning, below
from sash.runtime.graph import Feed, Graph
from sash.runtime.intake import Intake, in_order
from sash.runtime.packets import OUTSIDE, Cargo, Packet, batch_body, facts_body
from sash.runtime.routing import split_by_shard
from sash.runtime.schedule import parse_schedule
from sash.runtime.stream_clock import StreamClock
from sash.scalar.evaluate import Failures
from sash.schema import BEGINNING, FOREVER
from sash.state.arena import Arena
from sash.state.interner import Interner
from sash.state.lanes import decode, encode

MARKS = ("_ts", "_expiry", "_weight")  # the last columns of changes between levels


class Shard:
    """Shard number `shard` of a level."""

    def __init__(self, job: Job, level: int, shard: int, arena: Arena) -> None:
        self._job, self._level, self._shard, self._arena = job, level, shard, arena
        self._interner = Interner(arena)
        self.failures = Failures()
        self._registers = arena.array("shard", (4,))  # has a limit, the limit; has ended, at which instant
        scope = arena.scope("streams")
        self._clocks = {stream.name: StreamClock(stream, scope.scope(stream.name)) for stream in job.streams}
        self._ports = [port for port in job.ports if port.level == level]
        self._intakes = [self._intake(port) for port in self._ports if port.stream is not None]
        self._views = [view for view in job.views if view.level == level]
        self._net = {view.name: NetChanges(view.spec.layout, self._interner) for view in self._views}
        self._exchanges = [port for port in job.ports if port.spec.source is not None and port.spec.source_level == level]
        sinks = [view.spec for view in self._views]
        sinks += [port.spec.source for port in self._exchanges if port.spec.source is not None]
        self._sinks = sinks
        self._graph = Graph(sinks, arena, self._interner, self.failures, is_first_shard=shard == 0)
        self.reschedule(job.schedules)

    @property
    def graph(self) -> Graph:
        return self._graph

    def reschedule(self, schedules: Iterable[tuple[str, str]]) -> None:
        """Run operators by these schedules: of views by name, and of all others."""
        chosen = dict(schedules)
        self._graph.use(parse_schedule(chosen.get("", "auto")))
        for view in self._views:
            if view.name in chosen:
                self._graph.use(parse_schedule(chosen[view.name]), below(view.spec))

    def step(self, packets: Sequence[Packet]) -> list[Packet]:
        """Work off what came, and give what is to go out."""
        self._interner.sweep()
        own = [packet for packet in packets if packet.level == self._level]
        out = list(self._take_rows(own))
        is_end = self._take_controls(own)
        self._tell_the_end(is_end)
        feeds = {port.spec: feed for port, feed in self._feeds(own)}
        results = self._graph.step(feeds, self._sinks, self._begins)
        for view in self._views:
            out += self._changes(view, self._flushed(view, results[view.spec]) if is_end else results[view.spec])
        for port in self._exchanges:
            assert port.spec.source is not None
            out += self._send(port, results[port.spec.source])
        out.append(self._facts(own))
        return out

    def metrics(self) -> list[dict[str, Any]]:
        """What the operators have done since this shard was built, packed."""
        return [one.packed() for one in self._graph.metrics()]

    def early(self) -> dict[str, float]:
        return self._graph.early()

    def span(self, stream: str) -> tuple[int, int] | None:
        """The first and the greatest timestamp of a stream so far."""
        clock = self._clocks[stream]
        return None if clock.begin is None else (clock.begin, clock.greatest)

    @property
    def specs(self) -> set[Spec]:
        """What runs here."""
        return self._graph.specs

    def forget(self, kept: set[Spec]) -> None:
        """Leave nothing behind of what runs here, but for these specs."""
        for spec in self.specs - kept:
            for scope in (spec.fingerprint, f"ports/{spec.fingerprint}"):
                self._arena.drop(f"{scope}/")

    def fill(self, tables: Mapping[str, pa.RecordBatch], known: set[Spec]) -> list[Packet]:
        """Show what tables hold to the operators that are not known, since they are new."""
        rows = {}
        for port in self._ports:
            if port.stream is not None and port.stream in tables:
                columns = tables[port.stream].columns
                lanes = encode(columns, port.spec.layout, self._interner)
                ones = np.ones(len(lanes), np.int64)
                rows[port.spec] = Delta(lanes, ones * self._least_clock, ones * FOREVER, ones)
        feeds = {port.spec: feed for port, feed in self._feeds([])}
        results = self._graph.step(feeds, self._sinks, self._begins, rows, known)
        return [packet for view in self._views for packet in self._changes(view, results[view.spec])]

    @property
    def event_time(self) -> int:
        """The greatest timestamp of all streams so far."""
        return max((clock.greatest for clock in self._clocks.values()), default=BEGINNING)

    @property
    def now(self) -> int:
        """Where time is: at the greatest timestamp, or at the least clock if that is later."""
        return int(self._registers[3]) if self._registers[2] else max(self.event_time, self._least_clock)

    def _intake(self, port: Port) -> Intake:
        assert port.stream is not None
        scope = self._arena.scope("ports").scope(port.spec.fingerprint)
        return Intake(port, self._job.stream(port.stream), self._clocks[port.stream], scope, self._interner)

    def _take_rows(self, packets: Sequence[Packet]) -> Iterator[Packet]:
        """Splits in the order of their streams: what is late depends on the splits before."""
        for packet in packets:
            if packet.cargo in (Cargo.LATE, Cargo.DEAD):
                yield Packet(OUTSIDE, self._shard, packet.cargo, packet.name, -1, packet.order, packet.body)
        if any(packet.cargo is Cargo.SPLIT for packet in packets):
            self._registers[2] = 0
        by_order: dict[tuple[str, int], list[Packet]] = {}
        for packet in packets:
            if packet.cargo in (Cargo.SPLIT, Cargo.ROWS):
                by_order.setdefault((packet.name, packet.order), []).append(packet)
        for (name, _), group in sorted(by_order.items()):
            late_below = self._clocks[name].late_below
            for packet in group:
                if packet.cargo is Cargo.ROWS:
                    yield from self._take_split(packet, late_below)
            for packet in group:
                if packet.cargo is Cargo.SPLIT:
                    facts = packet.facts()
                    self._clocks[name].saw(facts["first"], facts["greatest"])

    def _take_split(self, packet: Packet, late_below: int) -> Iterator[Packet]:
        intake = next(intake for intake in self._intakes if intake.port.number == packet.port)
        late = intake.take(packet.batch(), late_below)
        # A stream with several ports has every row several times; the first port speaks of it.
        if late.num_rows and packet.port == self._job.ports_of(packet.name)[0].number:
            yield Packet(OUTSIDE, self._shard, Cargo.LATE, packet.name, -1, packet.order, late)

    def _flushed(self, view: View, feed: Feed) -> Feed:
        """What EMIT EVERY holds back comes out at the end, stamped with the last instant."""
        operator = self._graph.operator(view.spec)
        if not isinstance(operator, Emit):
            return feed
        rest = operator.rest(feed.clock - 1)
        return replace(feed, delta=Delta.concatenate([feed.delta, rest], view.spec.layout.width))

    def _tell_the_end(self, is_end: bool) -> None:
        """Operators that wait for rows wait no longer when the last one has come."""
        for spec in self.specs:
            operator = self._graph.operator(spec)
            if isinstance(operator, InputExpire):
                operator.end = int(self._registers[3]) if is_end else None

    def _take_controls(self, packets: Sequence[Packet]) -> bool:
        """Let time move as told; whether the end was told."""
        is_end = False
        for packet in packets:
            if packet.cargo is Cargo.CONTROL:
                facts = packet.facts()
                if facts.get("until") is not None:
                    self._registers[:2] = (1, int(facts["until"] or 0) + 1)
                if facts.get("advance") is not None:
                    self._registers[2] = 0
                    self._advance(packet.name, int(facts["advance"] or 0))
                if facts.get("end"):
                    is_end = True
                    self._end(self.event_time if self._has_streams else self.now)
                if facts.get("look"):
                    is_end = True
                    self._end(self.now)
        return is_end

    def _advance(self, name: str, clock: int) -> None:
        for stream, stream_clock in self._clocks.items():
            if name in ("", stream):
                stream_clock.advance(clock)

    def _end(self, last: int) -> None:
        """Make everything final up to an instant, or to the limit."""
        end = int(self._registers[1]) if self._registers[0] else last + 1
        self._registers[2:] = (1, end - 1)
        if last > BEGINNING or self._registers[0]:
            self._advance("", end)

    @property
    def _has_streams(self) -> bool:
        return any(not stream.is_table for stream in self._job.streams)

    @property
    def _begins(self) -> dict[str, int | None]:
        begins = {name: clock.begin for name, clock in self._clocks.items()}
        later = {beginning(str(i.port.stream), i.port.spec.since): i.begin for i in self._intakes if i.port.spec.since}
        return begins | later

    @property
    def _least_clock(self) -> int:
        """Of the streams; without any, tables go by what time was told."""
        told = max((clock.advanced for clock in self._clocks.values()), default=BEGINNING)
        return min((clock.clock for clock in self._clocks.values() if clock.clock != FOREVER), default=told)

    def _limited(self, clock: int) -> int:
        return min(clock, int(self._registers[1])) if self._registers[0] else clock

    def _feeds(self, packets: Sequence[Packet]) -> Iterator[tuple[Port, Feed]]:
        for intake in self._intakes:
            assert intake.port.stream is not None
            yield intake.port, intake.feed(self._limited(self._clocks[intake.port.stream].clock))
        for port in self._ports:
            if port.spec.source is not None:
                yield port, self._receive(port.spec, [packet for packet in packets if packet.port == port.number])
            elif port.spec.is_time:
                yield port, Feed(Delta.empty(port.spec.layout.width), self._limited(self._least_clock))

    def _receive(self, spec: PortSpec, packets: Sequence[Packet]) -> Feed:
        """Changes and clocks that all shards of the lower level sent."""
        clocks = [packet.facts() for packet in packets if packet.cargo is Cargo.CLOCK]
        bodies = [packet.batch() for packet in packets if packet.cargo is Cargo.DELTA]
        deltas = [self._from_arrow(batch, spec) for batch in bodies]
        clock = min((int(facts["clock"] or 0) for facts in clocks), default=BEGINNING)
        return Feed(in_order(Delta.concatenate(deltas, spec.layout.width)), clock)

    def _from_arrow(self, batch: pa.RecordBatch, spec: PortSpec) -> Delta:
        columns = batch.columns[: -len(MARKS)]
        ts, expiry, weight = (np.array(column, np.int64) for column in batch.columns[-len(MARKS) :])
        rows = encode(columns, spec.layout, self._interner) if columns else np.zeros((len(ts), spec.layout.width), np.int64)
        return Delta(rows, ts, expiry, weight)

    def _send(self, port: Port, feed: Feed) -> Iterator[Packet]:
        """Changes to the shards of a higher level, and to each the clock."""
        for shard in range(self._job.shards):
            facts = facts_body({"clock": feed.clock})
            yield Packet(port.level, shard, Cargo.CLOCK, "", port.number, self._shard, facts)
        if not len(feed.delta):
            return
        columns = decode(feed.delta.rows, port.spec.layout, self._interner)
        marks = (pa.array(numbers) for numbers in (feed.delta.ts, feed.delta.expiry, feed.delta.weight))
        batch = pa.RecordBatch.from_arrays([*columns, *marks], names=[*port.schema.names, *MARKS])
        for shard, part in split_by_shard(batch, port, self._job.shards):
            yield Packet(port.level, shard, Cargo.DELTA, "", port.number, self._shard, batch_body(part))

    def _changes(self, view: View, feed: Feed) -> Iterator[Packet]:
        """The changelog of a view in this step, and the net of it."""
        net = self._net[view.name].per_instant(feed.delta)
        if not len(net):
            return
        changes = self._to_arrow(view, repeat(net, np.abs(net.weight)))
        yield Packet(OUTSIDE, self._shard, Cargo.CHANGES, view.name, -1, self._shard, changes)
        whole = self._net[view.name].over_all(net)
        columns = decode(whole.rows, view.spec.layout, self._interner)
        batch = pa.RecordBatch.from_arrays([*columns, pa.array(whole.weight)], names=[*view.schema.names, "_weight"])
        yield Packet(OUTSIDE, self._shard, Cargo.NET, view.name, -1, self._shard, batch_body(batch))

    def _to_arrow(self, view: View, delta: Delta) -> pa.RecordBatch:
        marks = [pa.array(delta.weight.astype(np.int8)), pa.array(delta.ts).view(pa.timestamp("us"))]
        columns = decode(delta.rows, view.spec.layout, self._interner)
        return pa.RecordBatch.from_arrays([*marks, *columns], names=["_op", "_ts", *view.schema.names])

    def _facts(self, packets: Sequence[Packet]) -> Packet:
        rows = sum(packet.facts()["rows"] or 0 for packet in packets if packet.cargo is Cargo.SPLIT)
        facts: dict[str, int | None] = {
            "level": self._level, "rows": rows, "clock": self._least_clock, "state": self._arena.used,
            "failures": self.failures.total,
        }
        return Packet(OUTSIDE, self._shard, Cargo.FACTS, "", -1, self._shard, facts_body(facts))
